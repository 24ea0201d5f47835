"""Random scripts that follow the grammar of the language, most of them with mistakes in meaning."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = ("a", "b", "arr", "stat", "text", "x", "k", "undeclared")
FUNCTIONS = ("f", "g", "strange", "execname", "error")
NUMBERS = ("0", "1", "-1", "0xff", "0777", "9223372036854775807", "18446744073709551615")
STRINGS = ('""', '"text"', '"a" "b"', '"%d"', '"\\x41\\n"', '"ü"')
PATTERNS = ('"^a+(b|c)*$"', '"["', '"x{2,3}"', '"(a"', '""', '"[[:digit:]]"')
FORMATS = ('"%d"', '"%s %d"', '"%-5.3d|%x"', '"%*d"', '"plain"', '"%z"', '"%%"', '"%p%c"')
BINARY = [
    "+",
    "-",
    "*",
    "/",
    "%",
    ".",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "<",
    ">",
    "<=",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
]
ASSIGN = ["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|=", ".=", "<<<"]
STATISTICS = ("@count", "@sum", "@min", "@max", "@avg", "@variance", "@hist_log")
CHAINS = ("", "->f_pos", "->f_path->dentry", "[0]", "->nosuch", "$", "$$", "->table[x]")
TARGETS = ("$file", "$count", "$return", "$nosuch", "$$parms", "$$vars", "@entry($count)")
POINTS = (
    "begin",
    "end(3)",
    "begin(-1)",
    "never",
    "timer.s(1)",
    "timer.ms(10).randomize(3)",
    'kernel.function("vfs_read")',
    'kernel.function("vfs_*").return',
    'kernel.trace("sched_*")',
    "alias.one",
    "alias.{one,two}",
    "alias.*",
    "nosuch ?",
    "nosuch",
    "{begin,end}",
    "al**",
)


def words(values: tuple[str, ...] | list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(values)


def join(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    made = [st.just(part) if isinstance(part, str) else part for part in parts]
    return st.tuples(*made).map(" ".join)


def several(part: st.SearchStrategy[str], least: int = 0, most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(part, min_size=least, max_size=most).map(", ".join)


LEAF = (
    words(NAMES)
    | words(NUMBERS)
    | words(STRINGS)
    | join(words(TARGETS), words(CHAINS))
    | words(("@defined($nosuch)", "@1", "$1", "$#", "@nosuch", '@cast(x, "file")->f_pos', "&$file"))
)


def _expressions(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    keys = several(below | st.just("*"), 1)
    place = words(NAMES) | join(words(NAMES), "[", keys, "]") | join(words(TARGETS), words(CHAINS))
    return (
        join(below, words(BINARY), below)
        | join("(", below, ")")
        | join(words(("-", "!", "~", "+")), below)
        | join(below, "?", below, ":", below)
        | join(place, words(ASSIGN), below)
        | join(place, words(("++", "--")))
        | join(words(("++", "--")), place)
        | join(words(NAMES), "[", keys, "]")
        | join("[", keys, "] in", words(NAMES))
        | join(below, "in", words(NAMES))
        | join(below, words(("=~", "!~")), words(PATTERNS))
        | join(words(FUNCTIONS), "(", several(below), ")")
        | join(words(STATISTICS), "(", place, ")")
        | join("@hist_linear(", words(NAMES), ", 0, 100, 10) [", below, "]")
        | join(words(("print", "println", "sprint")), "(", several(below, 1), ")")
        | join(words(("printf", "sprintf")), "(", words(FORMATS), ",", several(below, 1), ")")
        | join(words(("printd", "sprintdln")), '( ",",', several(below, 1), ")")
        | join("@defined(", below, ")")
        | join("@choose(", below, ",", below, ")")
        | join('%( kernel_v > "3" %?', below, "%:", below, "%)")
    )


EXPRESSION = st.recursive(LEAF, _expressions, max_leaves=8)


def _statements(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    keys = words(("k", "k+", "x-", "[k, x]", "[k, x+]", "v = k", "v- = [k, x]"))
    array = words(("arr", "arr+", "stat @sum-", "text", "arr[*, 1]", "@hist_log(stat)"))
    return (
        join("if (", EXPRESSION, ")", below)
        | join("if (", EXPRESSION, ")", below, "else", below)
        | join("while (", EXPRESSION, ")", below)
        | join("for (", EXPRESSION, ";", EXPRESSION, ";", EXPRESSION, ")", below)
        | join("foreach (", keys, "in", array, ")", below)
        | join("foreach (", keys, "in", array, "limit", EXPRESSION, ")", below)
        | join("{", below, ";", below, "}")
        | join("try {", below, "} catch {", below, "}")
        | join("try {", below, "} catch (", words(NAMES), ") {", below, "}")
        | join("%( 1 == 2 %?", below, "%:", below, "%)")
    )


STATEMENT = st.recursive(
    EXPRESSION
    | join("delete", words(NAMES))
    | join("delete", words(NAMES), "[", EXPRESSION, "]")
    | join("return", EXPRESSION)
    | words(("break", "continue", "next", "return", ";", "{ }")),
    _statements,
    max_leaves=5,
)
BODY = st.lists(STATEMENT, max_size=4).map(lambda parts: "{ " + "\n".join(parts) + " }")
POINT = several(words(POINTS), 1, 2)
CONDITION = st.just("") | join("if (", EXPRESSION, ")")
DECLARATION = (
    join("probe", POINT, CONDITION, BODY)
    | join("probe alias.one =", POINT, BODY)
    | join("probe alias.two =", POINT, BODY, ",", BODY)
    | join("probe alias.two +=", POINT, BODY)
    | join("function", words(FUNCTIONS), "(", words(("", "x", "x, k", "x:string")), ")", BODY)
    | join("function", words(FUNCTIONS), "(x) : 2", BODY)
    | words(
        (
            "global a, b = 3",
            "global arr, stat, text[5]",
            'private global k = "s"',
            "global x%[3]",
            "@define choose(p, q) %( (@p ? @q : @p) %)",
            "@define nosuch %( 1 + %)",
        )
    )
)
SCRIPT = st.lists(DECLARATION, min_size=1, max_size=6).map("\n".join)
# What remains when the order of a script's words is not respected any more.
NOISE = st.lists(
    words((*NAMES, *STRINGS, *ASSIGN, *STATISTICS, *TARGETS, *POINTS, *"(){}[];,?:@$%#/*\\\"'"))
    | words(("%(", "%?", "%:", "%)", "%{", "%}", "/*", "*/", "//", "probe", "function", "foreach"))
    | words(("@define", "in", "limit", "try", "catch", "if", "else", "private", "\n", "\0", "é")),
    max_size=40,
).map(" ".join)
