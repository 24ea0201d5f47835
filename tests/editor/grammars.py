"""Grammars for the colours of editors, made from the lexer's own tables of words.

``python -m tests.editor.grammars`` writes the files in ``editors/`` anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stapy.parse.conditions import ASKED
from stapy.parse.tokens import AT_WORDS, KEYWORDS, PRINTERS
from tests import commandline

EDITORS = Path(__file__).resolve().parents[2] / "editors"
_TYPES = ("string", "long")
_DECLARES = ("probe", "global", "private", "function")
_FLOW = [word for word in KEYWORDS if word not in (*_TYPES, *_DECLARES)]
_AT = [word[1:] for word in AT_WORDS]
_NUMBER = r"0x[0-9A-Fa-f]+|[0-9]+"


def _any(words: object) -> str:
    return "|".join(sorted(words))  # type: ignore[call-overload]


def textmate() -> str:
    """Make the grammar for TextMate, which VS Code and code hosts read as well."""

    def rule(name: str, match: str) -> dict[str, object]:
        return {"name": f"{name}.systemtap", "match": match}

    def span(name: str, begin: str, end: str, **more: object) -> dict[str, object]:
        return {"name": f"{name}.systemtap", "begin": begin, "end": end, **more}

    escape = rule("constant.character.escape", r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]+|.)")
    patterns = [
        span("meta.embedded.block.c", "%\\{", "%\\}", patterns=[{"include": "source.c"}]),
        span("comment.block", "/\\*", "\\*/"),
        rule("comment.line", r"(?:#|//).*$"),
        span("string.quoted.double", '"', '"|$', patterns=[escape]),
        rule("keyword.control.conditional.preprocessor", r"%[(?:)]"),
        rule("variable.parameter.argument", r"[$@](?:\d+|[#*])"),
        rule("keyword.operator.word", rf"@(?:{_any(_AT)})\b"),
        rule("entity.name.function.preprocessor", r"@[A-Za-z_]\w*"),
        rule("variable.language.target", r"\$[\w$]*"),
        # Behind '.' and '->' these words are parts of a point, or members.
        rule("storage.type", rf"(?<![\w.>])(?:{_any(_DECLARES)}|{_any(_TYPES)})\b"),
        rule("keyword.control", rf"(?<![\w.>])(?:{_any(_FLOW)})\b"),
        rule("support.function", rf"(?<![\w.>])(?:{_any(PRINTERS)})\b"),
        rule("support.constant", rf"\b(?:{_any(ASKED)}|CONFIG_\w+)\b"),
        rule("constant.numeric", rf"\b(?:{_NUMBER})\b"),
    ]
    grammar = {"name": "SystemTap", "scopeName": "source.systemtap",
               "fileTypes": ["stp", "stpm"], "patterns": patterns}  # fmt: skip
    return json.dumps(grammar, indent=1) + "\n"


def vim() -> str:
    """Make the syntax file for Vim and Neovim."""
    at = " ".join(f"syn match stapOperator /@{word}\\>/\n" for word in sorted(_AT))
    return (
        '" Made by python -m tests.editor.grammars from the tables of the lexer.\n'
        'if exists("b:current_syntax") | finish | endif\n'
        f"syn keyword stapDeclares {' '.join(sorted(_DECLARES))}\n"
        f"syn keyword stapType {' '.join(sorted(_TYPES))}\n"
        f"syn keyword stapFlow {' '.join(sorted(_FLOW))}\n"
        f"syn keyword stapPrinter {' '.join(sorted(PRINTERS))}\n"
        f"syn keyword stapAsked {' '.join(sorted(ASKED))}\n"
        "syn match stapMember /\\(\\.\\|->\\)\\@<=\\h\\w*/\n"
        "syn match stapMacro /@\\h\\w*/\n"
        "syn match stapArgument /[$@]\\(\\d\\+\\|[#*]\\)/\n"
        "syn match stapTarget /\\$\\h[A-Za-z0-9_$]*/\n" + at.replace("\n ", "\n") +
        "syn match stapNumber /\\<\\(0x\\x\\+\\|\\d\\+\\)\\>/\n"
        "syn match stapMark /%[(?:)]/\n"
        "syn match stapEscape /\\\\\\(\\o\\{1,3}\\|x\\x\\+\\|.\\)/ contained\n"
        'syn region stapString start=/"/ skip=/\\\\./ end=/"/ contains=stapEscape oneline\n'
        "syn match stapComment /\\(#\\|\\/\\/\\).*$/\n"
        "syn region stapComment start=/\\/\\*/ end=/\\*\\//\n"
        "syn include @stapC syntax/c.vim\n"
        "syn region stapCode matchgroup=stapMark start=/%{/ end=/%}/ contains=@stapC\n"
        "hi def link stapDeclares Structure\nhi def link stapType Type\n"
        "hi def link stapFlow Statement\nhi def link stapPrinter Function\n"
        "hi def link stapAsked Constant\nhi def link stapMacro Macro\n"
        "hi def link stapOperator Operator\nhi def link stapArgument PreProc\n"
        "hi def link stapTarget Identifier\nhi def link stapNumber Number\n"
        "hi def link stapMark PreProc\nhi def link stapEscape Special\n"
        "hi def link stapString String\nhi def link stapComment Comment\n"
        'let b:current_syntax = "systemtap"\n'
    )  # fmt: skip


def emacs() -> str:
    """Make the mode for Emacs."""

    def words(words: object) -> str:
        return " ".join(f'"{word}"' for word in sorted(words))  # type: ignore[call-overload]

    return (
        ";;; systemtap-mode.el --- colours for SystemTap's language  -*- lexical-binding: t -*-\n"
        ";; Made by python -m tests.editor.grammars from the tables of the lexer.\n"
        "(defvar systemtap-font-lock\n"
        f"  (list (cons (regexp-opt '({words((*_DECLARES, *_FLOW))}) 'symbols)\n"
        "              'font-lock-keyword-face)\n"
        f"        (cons (regexp-opt '({words(_TYPES)}) 'symbols) 'font-lock-type-face)\n"
        f"        (cons (regexp-opt '({words(PRINTERS)}) 'symbols)\n"
        "              'font-lock-builtin-face)\n"
        f"        (cons (regexp-opt '({words(ASKED)}) 'symbols)\n"
        "              'font-lock-constant-face)\n"
        f"        (cons (concat (regexp-opt '({words(AT_WORDS)})) \"\\\\_>\")\n"
        "              'font-lock-builtin-face)\n"
        "        '(\"@[A-Za-z_][A-Za-z0-9_]*\" . font-lock-preprocessor-face)\n"
        "        '(\"[$][A-Za-z0-9_$#*]*\" . font-lock-variable-name-face)))\n"
        "(defvar systemtap-syntax\n"
        "  (let ((table (make-syntax-table)))\n"
        '    (modify-syntax-entry ?/ ". 124b" table)\n'
        '    (modify-syntax-entry ?* ". 23" table)\n'
        '    (modify-syntax-entry ?# "< b" table)\n'
        '    (modify-syntax-entry ?\\n "> b" table)\n'
        '    (modify-syntax-entry ?_ "_" table)\n'
        "    table))\n"
        "(define-derived-mode systemtap-mode prog-mode \"SystemTap\"\n"
        "  :syntax-table systemtap-syntax\n"
        "  (setq-local comment-start \"# \")\n"
        "  (setq-local font-lock-defaults '(systemtap-font-lock)))\n"
        "(add-to-list 'auto-mode-alist '(\"\\\\.stpm?\\\\'\" . systemtap-mode))\n"
        "(provide 'systemtap-mode)\n"
    )  # fmt: skip


FILES = {
    "vscode/syntaxes/systemtap.tmLanguage.json": textmate,
    "vim/syntax/systemtap.vim": vim,
    "emacs/systemtap-mode.el": emacs,
}

if __name__ == "__main__":
    commandline.read("python -m tests.editor.grammars", __doc__, sys.argv[1:])
    for file, make in FILES.items():
        (EDITORS / file).write_text(make())
