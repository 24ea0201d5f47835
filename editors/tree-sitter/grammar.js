// SystemTap's language, as docs/language.md and the parser of stapy have it, before the preprocessor:
// a conditional stands where one of its sides may, and a macro where a value, a statement or a
// declaration may. `tree-sitter generate` makes src/ from this file.

const PREC = {
  assign: 1, ternary: 2, or: 3, and: 4, bitor: 5, xor: 6, bitand: 7, in: 8, compare: 9,
  shift: 10, concat: 11, add: 12, multiply: 13, unary: 14, suffix: 16,
};

const ASSIGNMENTS = [
  "=", "<<<", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|=", ".=",
];
const BINARY = [
  [PREC.or, ["||"]], [PREC.and, ["&&"]], [PREC.bitor, ["|"]], [PREC.xor, ["^"]],
  [PREC.bitand, ["&"]], [PREC.compare, ["<", ">", "<=", ">=", "==", "!="]],
  [PREC.shift, ["<<", ">>"]], [PREC.concat, ["."]], [PREC.add, ["+", "-"]],
  [PREC.multiply, ["*", "/", "%"]],
];
const KEYWORDS = [
  "probe", "global", "private", "function", "if", "else", "for", "foreach", "in", "limit",
  "return", "delete", "while", "break", "continue", "next", "string", "long", "try", "catch",
];
const PRINT_LINES = ["println", "sprintln"];
const PRINTS = ["print", "print_char", "sprint"];
const PRINTS_DELIMITED = ["printd", "printdln", "sprintd", "sprintdln"];
const PRINTS_FORMATTED = ["printf", "sprintf"];
const PRINTERS = [...PRINT_LINES, ...PRINTS, ...PRINTS_DELIMITED, ...PRINTS_FORMATTED];
const STATISTICS = ["@count", "@sum", "@min", "@max", "@avg", "@variance"];
const OF_A_VALUE = [
  "@defined", "@entry", "@probewrite", "@kregister", "@uregister",
  ...STATISTICS.filter((word) => word !== "@variance"),
];
const OF_A_TEXT = ["@perf", "@const", "@enum"];
const OPERATORS = [
  "@cast", "@var", "@variance", "@enumname", "@kderef", "@uderef", "@hist_log", "@hist_linear",
  ...OF_A_VALUE, ...OF_A_TEXT,
];

const list = (one) => seq(one, repeat(seq(",", one)));

module.exports = grammar({
  name: "systemtap",
  word: ($) => $.identifier,
  extras: ($) => [/\s/, $.comment],
  conflicts: ($) => [
    [$.conditional_value, $.conditional_statement],
  ],
  rules: {
    script: ($) => repeat($._declaration),

    _declaration: ($) =>
      choice(
        $.probe, $.alias, $.function, $.global, $.embedded_code, $.macro_definition,
        alias($.conditional_declaration, $.conditional), prec.dynamic(-1, $._macro_use),
      ),

    // --- the preprocessor ---------------------------------------------------

    macro_definition: ($) =>
      seq("@define", field("name", $.identifier), optional($.macro_parameters), "%(", optional($.macro_body), "%)"),
    macro_parameters: ($) => seq("(", list($.identifier), ")"),
    macro_body: ($) => repeat1($._word),
    // Words that nobody has put into an order yet.
    _word: ($) =>
      choice(
        $.identifier, $.number, $.string_literal, $.target, $.argument, $.string_argument, $.macro, $.embedded_code,
        ...OPERATORS, seq("%(", repeat(choice($._word, "%?", "%:")), "%)"),
        ...KEYWORDS, ...PRINTERS, ...ASSIGNMENTS, "++", "--", "->", "=~", "!~", "!", "~", "?", ":",
        ";", ",", "(", ")", "[", "]", "{", "}", ...BINARY.flatMap(([, ops]) => ops),
      ),
    condition: ($) => list2($, $._comparison, choice("&&", "||")),
    _comparison: ($) =>
      choice(
        seq($._asked, choice("==", "!=", "<", "<=", ">", ">="), $._asked),
        $._macro_use,
      ),
    _asked: ($) => choice($.identifier, $.number, $.string_literal, $.argument, $.string_argument, $._macro_use),
    conditional_declaration: ($) => conditional($, repeat($._declaration)),
    conditional_statement: ($) => conditional($, repeat($._statement)),
    conditional_value: ($) => conditional($, $._expression),
    conditional_body: ($) => conditional($, $._body),
    conditional_literal: ($) => conditional($, $._literal),
    argument: () => token(choice(/\$\d\w*/, "$#", "$*")),
    string_argument: () => token(choice(/@\d\w*/, "@#", "@*")),
    macro: () => /@[A-Za-z_]\w*/,
    _macro_use: ($) => prec.right(seq($.macro, optional($.macro_arguments))),
    macro_arguments: ($) => prec(PREC.suffix, seq("(", optional(list($._expression)), ")")),

    // --- declarations -------------------------------------------------------

    global: ($) =>
      prec.right(seq(choice("global", seq("private", optional("global"))), list($.global_item), optional(";"))),
    global_item: ($) =>
      seq(
        field("name", $.identifier), optional("%"), optional(seq("[", $._signed, "]")),
        optional(seq("=", $._literal)),
      ),

    function: ($) =>
      seq(
        optional("private"), "function", field("name", $.identifier), optional($._type),
        "(", optional(list($.parameter)), ")", optional(seq(":", field("priority", $._signed))),
        $._body,
      ),
    _body: ($) =>
      field("body", choice($.block, $.embedded_code, alias($.conditional_body, $.conditional))),
    _type: ($) => seq(":", field("type", alias(choice("long", "string"), $.type))),
    parameter: ($) => seq(field("name", $.identifier), optional($._type)),

    probe: ($) => seq("probe", $._points, field("body", $.block)),
    alias: ($) =>
      seq(
        "probe", $._points,
        choice(
          seq("=", $._points, field("prologue", $.block), optional(seq(",", field("epilogue", $.block)))),
          seq("+=", $._points, field("epilogue", $.block)),
        ),
      ),
    _points: ($) => list($.point),
    point: ($) =>
      seq($._step, repeat(seq(".", $._step)), optional(choice("?", "!")), optional(seq("if", "(", $._expression, ")"))),
    _step: ($) => choice(seq($.component, optional(seq("(", $._literal, ")"))), $.point_group),
    point_group: ($) => seq("{", $._points, "}"),
    component: ($) => choice($.identifier, ...KEYWORDS, ...PRINTERS, $._pattern, $.argument, $.macro),
    _pattern: () => /[A-Za-z_][\w$]*\*[\w$*]*|\*[\w$*]*/,

    // --- statements ---------------------------------------------------------

    block: ($) => seq("{", repeat($._statement), "}"),
    _statement: ($) =>
      choice(
        $.block, $.empty, $.expression_statement, $.if_statement, $.while_statement, $.for_statement,
        $.foreach_statement, $.jump_statement, $.return_statement, $.delete_statement, $.try_statement,
        alias($.conditional_statement, $.conditional),
      ),
    empty: () => ";",
    expression_statement: ($) => prec.right(seq($._expression, optional(";"))),
    if_statement: ($) =>
      prec.right(seq("if", "(", $._expression, ")", $._statement, optional(seq("else", $._statement)))),
    while_statement: ($) => seq("while", "(", $._expression, ")", $._statement),
    for_statement: ($) =>
      seq("for", "(", optional($._expression), ";", optional($._expression), ";", optional($._expression), ")", $._statement),
    foreach_statement: ($) =>
      seq(
        "foreach", "(", optional(seq(field("value", $.foreach_key), "=")),
        choice($.foreach_key, seq("[", list($.foreach_key), "]")), "in", $._array,
        optional(seq("[", list($._key), "]")), optional(choice($._direction, seq(alias(choice(...STATISTICS), $.operator_name), $._direction))),
        optional(seq("limit", $._expression)), ")", $._statement,
      ),
    foreach_key: ($) => seq($.identifier, optional($._direction)),
    _direction: () => choice("+", "-"),
    jump_statement: () => prec.right(seq(choice("break", "continue", "next"), optional(";"))),
    return_statement: ($) => prec.right(seq("return", optional($._expression), optional(";"))),
    delete_statement: ($) => prec.right(seq("delete", $._expression, optional(";"))),
    try_statement: ($) =>
      seq("try", $.block, "catch", optional(seq("(", $.identifier, ")")), $.block),

    // --- expressions --------------------------------------------------------

    _expression: ($) =>
      choice(
        $.binary, $.assignment, $.ternary, $.unary, $.increment, $.regex_match, $.membership, $._suffixed,
      ),
    binary: ($) =>
      choice(
        ...BINARY.map(([level, ops]) => prec.left(level, seq($._expression, field("operator", choice(...ops)), $._expression))),
      ),
    assignment: ($) =>
      prec.right(PREC.assign, seq($._expression, field("operator", choice(...ASSIGNMENTS)), $._expression)),
    ternary: ($) => prec.right(PREC.ternary, seq($._expression, "?", $._expression, ":", $._expression)),
    unary: ($) => prec.right(PREC.unary, seq(field("operator", choice("-", "+", "!", "~", "&")), $._expression)),
    increment: ($) =>
      choice(
        prec.right(PREC.unary, seq(choice("++", "--"), $._suffixed)),
        prec.left(PREC.suffix, seq($._suffixed, choice("++", "--"))),
      ),
    regex_match: ($) => prec.left(PREC.compare, seq($._expression, choice("=~", "!~"), $._strings)),
    membership: ($) =>
      prec.left(PREC.in, seq(choice($._expression, seq("[", list($._key), "]")), "in", $._array)),
    _array: ($) => choice($.identifier, $.histogram, $._macro_use),
    _key: ($) => choice($._expression, "*"),

    _suffixed: ($) => choice($._value, $.member, $.subscript, $.pretty),
    member: ($) =>
      prec.left(PREC.suffix, seq($._suffixed, "->", field("member", choice(alias($.identifier, $.member_name), alias(choice(...KEYWORDS, ...PRINTERS), $.member_name))))),
    subscript: ($) => prec.left(PREC.suffix, seq($._suffixed, "[", list($._key), "]")),
    pretty: ($) => prec.left(PREC.suffix, seq($._suffixed, choice("$", "$$"))),

    _value: ($) =>
      choice(
        $.identifier, $.number, $._strings, $.target, $.argument, $.call, $.print, $.operator,
        $.histogram, $.parenthesized, $.embedded_code,
        alias($.conditional_value, $.conditional), $._macro_use,
      ),
    parenthesized: ($) => seq("(", $._expression, ")"),
    call: ($) =>
      prec(PREC.suffix, seq(field("function", $.identifier), "(", optional(list($._expression)), ")")),
    print: ($) =>
      choice(
        operator($, PRINT_LINES, optional(list($._expression))),
        operator($, PRINTS, list($._expression)),
        operator($, PRINTS_DELIMITED, seq($._text, ",", $._expression, ",", list($._expression))),
        operator($, PRINTS_FORMATTED, seq($._text, optional(seq(",", list($._expression))))),
      ),
    operator: ($) =>
      choice(
        operator($, ["@cast"], seq($._expression, ",", $._text, optional(seq(",", $._text)))),
        operator($, ["@var"], seq($._text, optional(seq(",", $._text)))),
        operator($, OF_A_VALUE, $._expression),
        operator($, ["@variance"], seq($._expression, optional(seq(",", $._signed)))),
        operator($, OF_A_TEXT, $._text),
        operator($, ["@enumname"], seq($._expression, optional(seq(",", $._text, optional(seq(",", $._text)))))),
        operator($, ["@kderef", "@uderef"], seq($._expression, ",", $._expression)),
      ),
    histogram: ($) =>
      choice(
        operator($, ["@hist_log"], $._expression),
        operator($, ["@hist_linear"], seq($._expression, ",", $._signed, ",", $._signed, ",", $._signed)),
      ),
    _text: ($) => choice($._strings, $._macro_use),

    // --- words --------------------------------------------------------------

    _strings: ($) => prec.right(repeat1(choice($.string_literal, $.string_argument))),
    string_literal: ($) => seq('"', repeat(choice($.escape, token.immediate(/[^"\\\n]+/))), token.immediate('"')),
    escape: () => token.immediate(/\\([0-7]{1,3}|x[0-9A-Fa-f]+|\r\n|[^\r]|\r)/),
    number: () => /\d\w*/,
    _signed: ($) => choice(seq(optional("-"), $.number), $.argument, $._macro_use),
    _literal: ($) => choice($._signed, $._strings, alias($.conditional_literal, $.conditional)),
    identifier: () => /[A-Za-z_][\w$]*/,
    target: () => token(choice(/\$[A-Za-z_][\w$]*/, /\$\$[A-Za-z_][\w$]*/, "$", "$$")),
    embedded_code: () => token(seq("%{", /([^%]|%+[^%}])*%*/, "%}")),
    comment: () => token(choice(/#[^\n]*/, /\/\/[^\n]*/, /\/\*([^*]|\*+[^*\/])*\*+\//)),
  },
});

function operator($, words, given) {
  const name = words[0].startsWith("@") ? $.operator_name : $.printer;
  return prec(PREC.suffix, seq(field("function", alias(choice(...words), name)), "(", given, ")"));
}

function list2($, one, between) {
  return seq(one, repeat(seq(between, one)));
}

function conditional($, side) {
  return seq("%(", $.condition, "%?", optionalSide(side), optional(seq("%:", optionalSide(side))), "%)");
}

function optionalSide(side) {
  return side.type === "REPEAT" ? side : optional(side);
}
