"""``stapy dtrace``: from a file of providers (``x.d``) to a header or an object for a program.

    stapy dtrace -h -s x.d     # x.h: a macro for each mark, and one that asks for listeners
    stapy dtrace -G -s x.d     # x.o: the counters of listeners (semaphores), to be linked in

With ``-h`` a program needs no more than that header and stapy's ``sys/sdt.h``.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from stapy.diagnostics.render import harmless, one_line
from stapy.diagnostics.suggest import did_you_mean
from stapy.paths import data_dir
from stapy.record import Record, new
from stapy.temporary import TemporaryFolder
from stapy.tools import entry

MOST_ARGUMENTS = 12
USAGE = """\
Usage: stapy dtrace -h|-G [options] -s FILE.d

  -h               write a header with the macros of all marks
  -G               compile an object with the counters of listeners
  -s FILE          file of providers
  -o FILE          where to write it (default: FILE.h, FILE.o)
  -C               preprocess FILE first
  -I DIR, -D NAME[=VALUE], -U NAME
                   for the preprocessor and the compiler
  -k               keep intermediate files
  -q, -Z, -x NAME[=VALUE]
                   of other systems: without effect, as are objects (FILE.o) behind -G
  --include        print the folder that has sys/sdt.h
  --install DIR    make the command DIR/dtrace, for programs that ask for one
  --help           print this

The environment's CC, CPP and CFLAGS are used.
"""
_TAKES = frozenset("soIDUx")
_LONG = ("--help", "--include", "--install")
_OBJECTS = (".o", ".lo", ".os", ".obj", ".a")
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
_TOKEN = re.compile(r'[A-Za-z_$][\w$`-]*|"(?:\\.|[^"\\\n])*"|\.\.\.|\d\w*|\S')
_WORD = re.compile(r"[A-Za-z_]\w*$")


class DtraceError(Exception):
    """What is wrong with the command line or the file."""


class ProviderProbe(Record):
    """One ``probe NAME(TYPES)``; a hyphen in its name is written ``__``."""

    name: str
    types: list[str]


class Provider(Record):
    """One ``provider NAME { … };``."""

    name: str
    marks: list[ProviderProbe] = new(list)


class _Command(Record):
    """A command line."""

    makes: str = ""
    source: str = ""
    output: str = ""
    preprocess: bool = False
    keep: bool = False
    flags: list[str] = new(list)
    objects: list[str] = new(list)


def main(words: list[str]) -> int:
    """Obey a command line and return the exit status."""
    if "--help" in words or not words:
        print(USAGE, end="")
        return 0
    if words == ["--include"]:
        print(data_dir("include"))
        return 0
    try:
        if words[0] == "--install":
            entry.main(words[1:])
        else:
            _obey(_parsed(words))
    except (DtraceError, entry.EntryError) as error:
        print(f"stapy dtrace: {harmless(str(error))}", file=sys.stderr)
        return 1
    except OSError as error:
        text = f"'{error.filename}': {error.strerror}"
        print(f"stapy dtrace: {one_line(text)}", file=sys.stderr)
        return 1
    return 0


def _parsed(words: list[str]) -> _Command:
    command = _Command()
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word in ("-64", "-32"):  # which the compiler is told by its own flags
            command.flags.append("-m" + word[1:])
            continue
        if word.endswith(_OBJECTS) and not word.startswith("-"):
            command.objects.append(word)
            continue
        if not word.startswith("-") or len(word) < 2 or word.startswith("--"):
            near = did_you_mean(word, _LONG, 1)
            raise DtraceError(
                f"unknown word '{word}'{near and '; ' + near} (--help lists the options)"
            )
        letter, value = word[1], word[2:]
        if letter in _TAKES:
            if not value and not queue:
                raise DtraceError(f"-{letter} needs a value")
            _take(command, letter, value or queue.pop(0))
            continue
        for flag in word[1:]:
            _flag(command, flag)
    if not command.source:
        raise DtraceError("-s FILE says which providers are meant")
    if not command.makes:
        raise DtraceError("-h or -G says what is to be made")
    if command.objects and command.makes != "G":
        raise DtraceError(f"'{command.objects[0]}': objects belong to -G")
    return command


def _take(command: _Command, letter: str, value: str) -> None:
    if letter == "s":
        command.source = value
    elif letter == "o":
        command.output = value
    elif letter != "x":
        command.flags.append(f"-{letter}{value}")


def _flag(command: _Command, flag: str) -> None:
    if flag in "hG":
        if command.makes and command.makes != flag:
            raise DtraceError("-h and -G exclude each other")
        command.makes = flag
    elif flag == "C":
        command.preprocess = True
    elif flag == "k":
        command.keep = True
    elif flag not in "qZ":
        raise DtraceError(f"unknown option '-{flag}' (--help lists the options)")


def _obey(command: _Command) -> None:
    source = Path(command.source)
    if command.preprocess:
        text = _preprocessed(source, command)
    else:
        text = source.read_text("utf-8", "surrogateescape")
    found = providers(text, command.source)
    if not found:  # configure scripts try a file without any
        text = f"stapy dtrace: {command.source}: there is no provider in it"
        print(harmless(text), file=sys.stderr)
    suffix = ".h" if command.makes == "h" else ".o"
    output = Path(command.output or source.with_suffix(suffix).name)
    if command.makes == "h":
        output.write_text(header(found, output.name))
    else:
        _compile(found, output, command)


def _preprocessed(source: Path, command: _Command) -> str:
    program = shlex.split(os.environ.get("CPP", "")) or [*_compiler(), "-E"]
    flags = [word for word in command.flags if word[1] in "IDU"]
    words = [*program, *flags, "-P", "-xc", str(source)]
    text = _output_of(words, f"'{source}' cannot be preprocessed")
    if command.keep:
        Path(source.name + ".i").write_text(text)
    return text


def _output_of(words: list[str], failure: str) -> str:
    """Run a tool of the compiler; raise `DtraceError`, with what it says, when that fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DtraceError(f"'{words[0]}' cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise DtraceError(f"{failure}:\n{done.stderr.rstrip()}")
    return done.stdout


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def _compile(found: list[Provider], output: Path, command: _Command) -> None:
    flags = shlex.split(os.environ.get("CFLAGS", "")) + command.flags
    with TemporaryFolder("dtrace") as folder:
        text = folder / "counters.c"
        if command.keep:
            text = output.with_suffix(".dtrace-temp.c")
        text.write_text(counters(found))
        words = [*_compiler(), *flags, "-fPIC", "-g0", "-c", str(text), "-o", str(output)]
        _output_of(words, f"'{output}' cannot be compiled")


# --- the language -----------------------------------------------------------


class _Tokens:
    """The words of a file, with their lines."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.rows: list[tuple[str, int]] = []
        plain = _COMMENT.sub(_blank, text)
        for number, line in enumerate(plain.split("\n"), 1):
            if not line.lstrip().startswith("#"):  # pragmas, lines of the preprocessor
                self.rows += [(word, number) for word in _TOKEN.findall(line)]
        self.at = 0

    def next(self) -> str:
        """Take a word, "" at the end."""
        if self.at >= len(self.rows):
            return ""
        self.at += 1
        return self.rows[self.at - 1][0]

    def expect(self, *wanted: str) -> str:
        """Take one of some words."""
        word = self.next()
        if word not in wanted:
            raise self.wrong(f"'{word or 'the end'}' where '{wanted[0]}' is expected")
        return word

    def name_of(self, what: str) -> str:
        """Take a name."""
        word = self.next()
        if not _WORD.match(word.replace("-", "_")):
            raise self.wrong(f"'{word or 'the end'}' is no name of a {what}")
        return word

    def wrong(self, text: str, line: int = 0) -> DtraceError:
        """Say what is wrong on a line, or at the word taken last."""
        line = line or self.rows[min(self.at, len(self.rows)) - 1][1] if self.rows else 1
        return DtraceError(f"{self.name}:{line}: {text}")


def _blank(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"[^\n]+", " ", found[0])


def providers(text: str, name: str = "<text>") -> list[Provider]:
    """Parse the providers of a file, leaving out types, stability, pragmas and clauses.

    Raises `DtraceError` where one seems to be meant that is none.
    """
    tokens = _Tokens(text, name)
    found: list[Provider] = []
    while word := tokens.next():
        if word == "provider":
            found.append(_provider(tokens))
        elif word != ";":
            _skip(tokens, word)
    if not found:
        for word, line in tokens.rows:
            if word.lower() == "provider":
                raise tokens.wrong(_no_provider(word), line)
    return found


def _no_provider(word: str) -> str:
    if word != "provider":
        return f"'{word}' is no provider: the word is 'provider'"
    return "'provider' stands in a declaration: a ';' or '}' is missing before it"


def _skip(tokens: _Tokens, word: str) -> None:
    """Leave a declaration out, up to its semicolon, or a clause of a script, up to its brace."""
    depth = 0
    is_clause = word in ("BEGIN", "END", "ERROR")
    while word:
        if depth == 0 and word.lower() == "provider":
            raise tokens.wrong(_no_provider(word))
        depth += (word in "{(") - (word in "})")
        is_clause = is_clause or (word == ":" and depth == 0)
        if depth <= 0 and (word == ";" or (word == "}" and is_clause)):
            return
        word = tokens.next()
    raise tokens.wrong("a declaration has no end")


def _provider(tokens: _Tokens) -> Provider:
    found = Provider(tokens.name_of("provider").replace("-", "__"))
    tokens.expect("{")
    while (word := tokens.expect("probe", "}", ";", *_TYPE_WORDS)) != "}":
        if word in _TYPE_WORDS:
            _skip(tokens, word)
        elif word == "probe":
            found.marks.append(_mark(tokens))
    if tokens.at < len(tokens.rows) and tokens.rows[tokens.at][0] == ";":
        tokens.next()
    return found


_TYPE_WORDS = ("typedef", "struct", "union", "enum")


def _mark(tokens: _Tokens) -> ProviderProbe:
    name = tokens.name_of("probe").replace("-", "__")
    if tokens.expect("(", ";") == ";":
        return ProviderProbe(name, [])
    types: list[str] = []
    words: list[str] = []
    depth = 0
    while True:
        word = tokens.next()
        if not word or word in "{};":
            raise tokens.wrong(f"the arguments of '{name}' have no end")
        if depth == 0 and word in ",)":
            types.append(" ".join(words))
            words = []
            if word == ")":
                break
            continue
        depth += (word == "(") - (word == ")")
        words.append(word)
    while tokens.expect(";", ":") != ";":  # translated arguments: (A a) : (B b)
        tokens.expect("(")
        depth = 1
        while depth:
            word = tokens.next()
            if not word:
                raise tokens.wrong(f"the arguments of '{name}' have no end")
            depth += (word == "(") - (word == ")")
    types = [] if types in ([""], ["void"]) else types
    if "" in types:
        raise tokens.wrong(f"an argument of '{name}' is empty")
    if len(types) > MOST_ARGUMENTS:
        raise tokens.wrong(f"'{name}' has {len(types)} arguments: {MOST_ARGUMENTS} are the most")
    return ProviderProbe(name, types)


# --- what is made of it -----------------------------------------------------


def _counter(provider: Provider, mark: ProviderProbe) -> str:
    return f"{provider.name}_{mark.name}_semaphore"


def header(found: list[Provider], name: str) -> str:
    """Write the C header of some providers."""
    guard = "_" + re.sub(r"\W", "_", name).upper()
    lines = [
        f"/* Made by stapy dtrace -h: {', '.join(row.name for row in found)}. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#define _SDT_HAS_SEMAPHORES 1",
        "#include <sys/sdt.h>",
        "#undef _SDT_HAS_SEMAPHORES",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
    ]
    for provider in found:
        for mark in provider.marks:
            lines += ["", *_macros(provider, mark)]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _macros(provider: Provider, mark: ProviderProbe) -> list[str]:
    word = f"{provider.name}_{mark.name}".upper()
    names = [f"arg{number}" for number in range(1, len(mark.types) + 1)]
    given = ", ".join([provider.name, mark.name, *names])
    count = str(len(names)) if names else ""
    return [
        f"/* {mark.name}({', '.join(mark.types)}) */".replace("*/ *", "* *"),
        'extern __attribute__((visibility("hidden")))',
        f"unsigned short {_counter(provider, mark)};",
        f"#define {word}_ENABLED() __builtin_expect({_counter(provider, mark)}, 0)",
        f"#define {word}({', '.join(names)}) DTRACE_PROBE{count}({given})",
    ]


def counters(found: list[Provider]) -> str:
    """Write the C text of the counters of listeners."""
    lines = ["/* Made by stapy dtrace -G. */"]
    for provider in found:
        lines += [
            f"unsigned short {_counter(provider, mark)}\n"
            '\t__attribute__((unused, section(".probes"), visibility("hidden")));'
            for mark in provider.marks
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
