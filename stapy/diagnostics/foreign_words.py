"""Words that other languages have for what is said differently here, or need not be said."""

from __future__ import annotations

C_TYPES = frozenset(
    {
        "int", "long", "unsigned", "signed", "char", "short", "string", "size_t", "ssize_t",
        "float", "double", "bool", "auto", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t",
        "uint16_t", "uint32_t", "uint64_t", "uint64", "uint32", "int64", "str", "u8", "u16", "u32",
        "u64", "s8", "s16", "s32", "s64",
    }
)  # fmt: skip
_DECLARES = frozenset(
    {
        "let", "var", "my", "local", "const", "static", "register", "volatile", "declare",
    }
)  # fmt: skip
_GROUPS = frozenset(
    {
        "begin", "end", "fi", "done", "endif", "endwhile", "endfor", "endforeach", "esac", "wend",
    }
)  # fmt: skip
_DEFINES = frozenset(
    {
        "def", "func", "fun", "void", "sub", "proc", "procedure", "defun", "method",
    }
)  # fmt: skip
_IMPORTS = frozenset(
    {
        "import", "include", "use", "require", "from", "package", "using",
    }
)  # fmt: skip

_SWITCH = "there is no switch: if (…) … else if (…) …"
_ERROR = "error(text) ends the handler, or leads to the 'catch' of a 'try'"
_PRINT = "println(text)"

# What a statement begins with elsewhere, or consists of.
_STATEMENTS = {
    "then": "there is no 'then': if (condition) statement",
    "do": "there is no 'do': while (…) { … }; for a test at the end: while (1) { … if (…) break }",
    "goto": "there is no goto: 'break', 'continue', 'next' and 'return' leave what they are in",
    "switch": _SWITCH,
    "case": _SWITCH,
    "default": _SWITCH,
    "pass": "the statement that does nothing is ';'",
    "throw": _ERROR,
    "raise": _ERROR,
    "die": _ERROR,
    "echo": _PRINT,
    "puts": _PRINT,
    "say": _PRINT,
}
_CALLS = {
    "until": "write while (!(…))",
    "unless": "write if (!(…))",
    "elseif": "write else if (…)",
    "loop": "write while (1) { … }",
    "repeat": "write for (i = 0; i < n; i++)",
    "case": _SWITCH,
    "throw": _ERROR,
    "die": _ERROR,
    "assert": "write if (!(…)) error(text)",
    "int": "there are no conversions but strtol(text, 10) and sprint(number)",
}
_OPERATORS = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "is": "==",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "mod": "%",
    "xor": "^",
    "matches": "=~",
    "like": "=~",
}


def statement_hint(word: str) -> str:
    """Tell what the language has for a word that begins a statement elsewhere; else ""."""
    if word in C_TYPES:
        return f"variables have no type declaration: leave out '{word}'"
    if word in _DECLARES:
        return f"variables need no declaration: leave out '{word}'"
    if word in _GROUPS:
        return "braces hold statements together: { … }"
    return _STATEMENTS.get(word, "") or operator_hint(word)


def names_something(word: str) -> bool:
    """Tell whether the word of another language has a name behind it: ``int i``, ``goto out``."""
    return word in C_TYPES or word in _DECLARES or word == "goto"


def call_hint(word: str) -> str:
    """Tell what is written for a word before parentheses that is no function here; else ""."""
    return _CALLS.get(word, "") or operator_hint(word)


def operator_hint(word: str) -> str:
    """Tell which operator is written for a word; "" for other words."""
    sign = _OPERATORS.get(word, "")
    return f"write '{sign}' for '{word}'" if sign else ""


def top_hint(word: str, following: str) -> str:
    """Tell how a declaration is written that other languages begin with a word; else "".

    ``following`` are the two words behind it, with a blank between them.
    """
    name, _, bracket = following.partition(" ")
    if word in _DEFINES or (word in C_TYPES | _DECLARES and bracket == "("):
        return f"write 'function {name if name.isidentifier() else 'NAME'}(…) {{ … }}'"
    if word in C_TYPES | _DECLARES:
        return f"a variable of all probes is declared so: global {name}"
    if word in _IMPORTS:
        return "nothing is imported: the library is searched for what is used, so are folders of -I"
    if name in ("{", "."):
        return f"a probe begins with that word: probe {word}{' ' * (name == '{')}{name} …"
    return ""


def type_name_hint(word: str) -> str:
    """Tell which of the two types is meant by one of another language; "" for other words."""
    if word not in C_TYPES:
        return ""
    return "texts are 'string'" if word in ("char", "str") else "numbers are 'long'"
