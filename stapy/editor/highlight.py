"""The script language for Pygments, the highlighter of documents, wikis and terminals.

Registered in ``setup.cfg``, so that ``pygmentize``, Sphinx and whatever else uses Pygments knows
``stap`` where stapy is installed. The words are those of our own lexer.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, using, words  # type: ignore[import-untyped]
from pygments.lexers.c_cpp import CLexer  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

from stapy.parse.conditions import ASKED
from stapy.parse.tokens import AT_WORDS, KEYWORDS, OPERATORS, PRINTERS

_TYPES = ("string", "long")
_DECLARES = ("probe", "global", "private", "function")
_FLOW = tuple(word for word in KEYWORDS if word not in (*_TYPES, *_DECLARES))
# Words behind these are parts of a point, or members.
_ALONE = r"(?<![\w.>])"


class StapLexer(RegexLexer):  # type: ignore[misc]
    """Colour scripts; C between ``%{`` and ``%}`` as C."""

    name = "SystemTap"
    aliases = ["stap", "systemtap"]
    filenames = ["*.stp", "*.stpm"]
    mimetypes = ["text/x-systemtap"]
    url = "https://sourceware.org/systemtap/"

    tokens = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"\A#!.*$", Comment.Hashbang),
            (r"(?s)(%\{)(.*?)(%\})", bygroups(Comment.Preproc, using(CLexer), Comment.Preproc)),
            (r"(?s)/\*.*?\*/", Comment.Multiline),
            (r"//.*$", Comment.Single),
            (r"[$@](?:\d+|#|\*)", Name.Variable.Magic),
            (r"#.*$", Comment.Single),
            (r'"', String.Double, "string"),
            (r"%[(?:)]", Comment.Preproc),
            (words(sorted(AT_WORDS), suffix=r"\b"), Operator.Word),
            (r"@[A-Za-z_]\w*", Name.Function.Magic),
            (r"\$[A-Za-z_$][\w$]*|\$", Name.Variable),  # alone behind a member, printed whole
            (words(_DECLARES, prefix=_ALONE, suffix=r"\b"), Keyword.Declaration),
            (words(_TYPES, prefix=_ALONE, suffix=r"\b"), Keyword.Type),
            (words(_FLOW, prefix=_ALONE, suffix=r"\b"), Keyword),
            (words(sorted(PRINTERS), prefix=_ALONE, suffix=r"\b"), Name.Builtin),
            (words(sorted(ASKED), prefix=_ALONE, suffix=r"\b"), Name.Constant),
            (rf"{_ALONE}CONFIG_\w+", Name.Constant),
            (r"0x[0-9A-Fa-f]+", Number.Hex),
            (r"\d+", Number.Integer),
            (rf"{_ALONE}[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"[][(){},;]|\.(?!=)", Punctuation),
            (words(sorted(OPERATORS, key=len, reverse=True)), Operator),
        ],
        "string": [
            (r'"', String.Double, "#pop"),
            (r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]+|(?s:.))", String.Escape),
            (r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[bcdiopsuxXmMnf%]", String.Interpol),
            (r'[^"\\%\n]+', String.Double),
            (r"%", String.Double),
            (r"\n", Text.Whitespace, "#pop"),
        ],
    }
