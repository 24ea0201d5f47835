; Names of captures as in Neovim's and Helix's own queries.

(comment) @comment
(number) @number
(string_literal) @string
(escape) @string.escape
(embedded_code) @none

["probe" "global" "private" "function"] @keyword
["if" "else"] @keyword.conditional
["for" "foreach" "in" "limit" "while"] @keyword.repeat
["return" "break" "continue" "next" "delete"] @keyword
["try" "catch"] @keyword.exception
["@define" "%(" "%?" "%:" "%)"] @keyword.directive
(type) @type

(component) @constant
(point "." @punctuation.delimiter)
(function name: (identifier) @function)
(parameter name: (identifier) @variable.parameter)
(call function: (identifier) @function.call)
(printer) @function.builtin
(operator_name) @function.builtin
(macro) @function.macro
(macro_definition name: (identifier) @function.macro)
(argument) @constant.macro
(string_argument) @constant.macro
(target) @variable.builtin
(member member: (member_name) @property)
(global_item name: (identifier) @variable)

[
  "=" "<<<" "+=" "-=" "*=" "/=" "%=" "<<=" ">>=" "&=" "^=" "|=" ".="
  "||" "&&" "|" "^" "&" "<" ">" "<=" ">=" "==" "!=" "<<" ">>" "." "+" "-" "*" "/" "%"
  "!" "~" "?" "++" "--" "->" "=~" "!~"
] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":"] @punctuation.delimiter
