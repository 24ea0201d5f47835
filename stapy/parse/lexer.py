"""Text to tokens, by one compiled pattern.

The lexer knows nothing of context: script arguments and macros come out as
tokens of their own (``ARG``, ``MACRO``) and are resolved by the preprocessor,
because the side of a conditional that is not taken may name arguments that do
not exist.
"""

from __future__ import annotations

import re

from stapy.diagnostics import Diagnostics, Label, Span
from stapy.parse.tokens import AT_WORDS, KEYWORDS, MARKS, OPERATORS, PRINTERS, Token
from stapy.patterns import compiled_when_used

_PATTERN = re.compile(
    r"""
      (?P<space>   [ \t\r\n\f\v]+ | \#[^\n]* | //[^\n]* | /\*(?:[^*]|\*(?!/))*\*/ )
    | (?P<word>    [A-Za-z_][\w$]* )
    | (?P<arg>     \$\d\w* | \$\# | \$\* | @\d+\w* | @\# | @\* )
    | (?P<target>  \$[\w$]* )
    | (?P<at>      @[A-Za-z_]\w* )
    | (?P<number>  \d\w* )
    | (?P<string>  "(?:[^"\\\n]|\\(?:\r\n|.))*" )
    | (?P<embed>   %\{ )
    | (?P<mark>    %[(?:)] )
    | (?P<comment> /\* )
    | (?P<op>      <<<|<<=|>>=|<<|>>|<=|>=|==|!=|=~|!~|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|&=|\^=
                 | \|=|\.=|->|[-=<>+*/%&|^~!?:;,.()\[\]{}] )
    | (?P<quote>   " )
    | (?P<junk>    . )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)

# As in C a hexadecimal escape takes all digits, while its value fits into a byte.
_ESCAPE = compiled_when_used(
    r"\\(?:([0-7]{1,3})|x(0*[0-9A-Fa-f]{1,2}(?![0-9A-Fa-f])|[0-9A-Fa-f]{1,2})|(\r\n|.))", re.DOTALL
)
_LETTERS = {
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "\r\n": "\n",
}


def _unescape(match: re.Match[str]) -> str:
    octal, hexadecimal, letter = match.groups()
    if octal:
        return chr(int(octal, 8) & 255)
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    return _LETTERS.get(letter, letter)


def as_bytes_text(text: str) -> str:
    """Encode text as the kernel will hold it: one character (below 256) for each UTF-8 byte."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def readable(text: str) -> str:
    """Decode text that was read byte by byte as the UTF-8 that it nearly always is."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def decode_string(body: str) -> str:
    """Decode what stands between the quotes of a literal to its value."""
    body = as_bytes_text(body)
    return _ESCAPE().sub(_unescape, body) if "\\" in body else body


def tokenize(text: str, source: int, diagnostics: Diagnostics) -> list[Token]:
    """Split a text into tokens; characters that begin no token become ``JUNK``."""
    tokens: list[Token] = []
    add = tokens.append
    match = _PATTERN.match
    position, size = 0, len(text)
    keyword, printer = KEYWORDS.get, PRINTERS.get
    while position < size:
        found = match(text, position)
        assert found is not None  # the last alternative takes any character
        start, position = position, found.end()
        group = found.lastgroup
        if group == "space":
            continue
        word = found.group()
        if group == "word":
            add(Token(keyword(word) or printer(word, "IDENT"), word, source, start, position))
        elif group == "op":
            add(Token(OPERATORS[word], word, source, start, position))
        elif group == "number":
            add(Token("NUMBER", word, source, start, position))
        elif group == "string":
            add(Token("STRING", decode_string(word[1:-1]), source, start, position))
        elif group == "target":
            kind = "TARGET" if word.strip("$") else "DOLLARS"
            add(Token(kind, word, source, start, position))
        elif group == "at":
            add(Token(AT_WORDS.get(word, "MACRO"), word, source, start, position))
        elif group == "mark":
            add(Token(MARKS[word], word, source, start, position))
        elif group == "arg":
            add(Token("ARG", word, source, start, position))
        elif group == "embed":
            end = text.find("%}", position)
            if end < 0:
                _unclosed_code(source, start, size, diagnostics)
                position = size
            else:
                add(Token("EMBED", text[position:end], source, start, end + 2))
                position = end + 2
        elif group == "comment":
            diagnostics.error(
                "parse error",
                "E0103",
                "Could not find matching '*/' to close comment",
                Span(source, start, start + 2),
                where="this comment never ends",
                hint="add '*/' where the comment should end",
            )
            position = size
        elif group == "quote":
            position = _unclosed_string(text, source, start, diagnostics)
            add(Token("STRING", text[start + 1 : position], source, start, position))
        else:
            add(Token("JUNK", word, source, start, position))
    return tokens


def _unclosed_code(source: int, start: int, size: int, diagnostics: Diagnostics) -> None:
    diagnostics.error(
        "parse error",
        "E0102",
        "Could not find matching '%}' to close embedded function block",
        Span(source, start, start + 2),
        where="the C code begins here",
        labels=[Label(Span(source, size, size), "and the file ends here")],
        hint="add '%}' after the C code",
    )


def _unclosed_string(text: str, source: int, start: int, diagnostics: Diagnostics) -> int:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end - (text[end - 1] == "\r")
    diagnostics.error(
        "parse error",
        "E0101",
        "Could not find matching closing quote",
        Span(source, start, start + 1),
        where="the string begins here",
        labels=[Label(Span(source, end, end), "and the line ends here")],
        hint="add a closing '\"'; to put a line break into a string write \\n",
    )
    return end
