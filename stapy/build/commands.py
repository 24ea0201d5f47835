"""The commands by which a kernel's own kbuild makes a module, learnt from it.

A dummy module of two objects is built once; kbuild leaves each command in a
``.cmd`` file (``cmd_X :=`` up to 6.1, ``savedcmd_X :=`` later).  Flags, helper
programs and their order (objtool on every object, or once on the linked whole)
are taken from there, so that nothing about a kernel line is written in here.

The description of the dummy is written but not compiled: it reads all of
<linux/module.h>, which would take half of the time, and the kit has a precompiled
header for that.  `_final_link` gets the command of the last link nevertheless.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

from stapy.build.process import Result
from stapy.build.tools import HERE, Tools
from stapy.paths import exists
from stapy.record import Record, new

# Placeholders in the recorded words.
SOURCE, OBJECT, INPUTS, OUTPUT = "@SOURCE@", "@OBJECT@", "@INPUTS@", "@OUTPUT@"

_NAME = "stapydummy"
_KBUILD = f"""obj-m := {_NAME}.o
{_NAME}-y := one.o two.o
$(file >@FOLDER@/variables,SRCARCH=$(SRCARCH))
$(file >>@FOLDER@/variables,ARCH=$(ARCH))
$(file >>@FOLDER@/variables,CURDIR=$(CURDIR))
$(shell env -0 >@FOLDER@/environment)
"""
# Without <linux/module.h>: reading it twice would cost more than all the rest. The entries are
# named in data, as that header's macros do it: newer objtools seal functions that are not, and
# refuse to seal these.
_ONE = """int init_module(void);
int init_module(void) { return 0; }
void cleanup_module(void);
void cleanup_module(void) { }
static void *entries[] __attribute__((used)) = { init_module, cleanup_module };
static const char license[] __attribute__((used, section(".modinfo"), aligned(1))) = "license=GPL";
"""
# Without symbols, so that copies of its object can stand for the parts that are not compiled.
_TWO = "extern int stapy_two;\n"
# Our objects carry no debug information, so neither needs the dummy.
_PLAIN = ("CONFIG_DEBUG_INFO=", "CONFIG_DEBUG_INFO_BTF_MODULES=", "PAHOLE_FLAGS=")
_COMMON = ".module-common.o"

_DEBUG = re.compile(r"-g(dwarf.*|z.*|\d|split-dwarf|no-.*)?$")
_DEPENDENCIES = re.compile(r"-Wp,-M")
_IDENTITY = re.compile(r"-D(KBUILD_BASENAME|KBUILD_MODNAME|__KBUILD_MODNAME|KBUILD_MODFILE)=")
_PATH_OPTION = re.compile(r"(-I|-isystem|-iquote|-T|--script=)(\./.*|\.\./.*|[^-/@.].*)$")
_SHELL = re.compile(r"[|&<>(){}`$*?!]|^\s*(if|for|while|case|set|then|fi)\b")


class CaptureError(Exception):
    """kbuild did not work, or did something that we cannot repeat; ``log`` is what it printed."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason)
        self.log = log


class Commands(Record):
    """How to make a module of one kernel; words hold placeholders.

    ``compile`` makes OBJECT of SOURCE, then each of ``after_compile`` works on
    OBJECT.  ``link`` makes OUTPUT of INPUTS (``ld -r``), then ``after_link``
    works on OUTPUT.  ``final`` makes the module OUTPUT of INPUTS.
    ``template`` is the C of ``X.mod.c`` without its tables; ``versions`` says
    whether it had a table of CRCs; ``common`` is the object that goes into every
    module on newer kernels, or ``common_source`` the C from which to make it.
    """

    compile: list[str]
    after_compile: list[list[str]]
    link: list[str]
    after_link: list[list[str]]
    final: list[str]
    template: str
    versions: bool
    common: bytes
    environment: dict[str, str] = new(dict)
    common_source: str = ""

    def as_data(self) -> dict[str, object]:
        """Return all fields for JSON but the common object, which travels as its own file."""
        return {field: getattr(self, field) for field in type(self).fields if field != "common"}


def fill(words: list[str], **places: str | list[str]) -> list[str]:
    """Replace placeholders: ``fill(words, OBJECT="x.o", INPUTS=["a.o", "b.o"])``."""
    result: list[str] = []
    for word in words:
        value = places.get(word[1:-1]) if word[:1] == "@" == word[-1:] else None
        if value is None:
            for name, text in places.items():
                if isinstance(text, str):
                    word = word.replace(f"@{name}@", text)
            result.append(word)
        elif isinstance(value, str):
            result.append(value)
        else:
            result.extend(value)
    return result


def make_command(build_dir: Path, folder: Path, *words: str) -> list[str]:
    """Build the call of kbuild for an external module."""
    return ["make", "-C", str(build_dir), f"M={folder}", *words, "modules"]


def capture(build_dir: Path, tools: Tools = HERE) -> tuple[Commands, Result]:
    """Build the dummy and read what kbuild did; a `CaptureError` when that is not usable."""
    for whole in (False, True):
        found = _capture(build_dir, tools, is_whole=whole)
        if found is not None:
            return found
    raise CaptureError("kbuild left no commands")


def _capture(build_dir: Path, tools: Tools, *, is_whole: bool) -> tuple[Commands, Result] | None:
    """Build the dummy once; None when it was not whole and the last link could not be had."""
    words = () if is_whole else ("KBUILD_MODPOST_NOFINAL=1",)

    with tools.folder("capture") as folder:
        (folder / "Kbuild").write_text(_KBUILD.replace("@FOLDER@", str(folder)))
        (folder / "one.c").write_text(_ONE)
        (folder / "two.c").write_text(_TWO)
        done = tools.run(make_command(build_dir, folder, "-j2", *tools.make_words, *_PLAIN, *words))
        if done.status:
            raise CaptureError("kbuild failed on an empty module", done.output)
        common_source = ""
        if not is_whole:
            linked = _final_link(folder, tools)
            if linked is None:
                return None
            done.cpu += linked[0].cpu
            common_source = linked[1]
        return _CommandReader(build_dir, folder, common_source, tools).read(), done


def _final_link(folder: Path, tools: Tools) -> tuple[Result, str] | None:
    """Let kbuild link the dummy with empty objects in place of its description.

    ``make -n`` compiles nothing; the link is a recipe that it runs all the same,
    and leaves its command.  Gives also the source of the common object, or "".
    """
    try:
        data = (folder / "environment").read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None
    exported = dict(row.split("=", 1) for row in data.split("\0") if "=" in row)
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
        exported.pop(name, None)
    rules = Path(exported.get("srctree", "")) / "scripts" / "Makefile.modfinal"
    where = _variables(folder).get("CURDIR", "")
    if not where or not exists(Path(where) / rules):
        return None
    source = Path(where) / rules.with_name("module-common.c")
    empty = (folder / "two.o").read_bytes()
    (folder / f"{_NAME}.mod.o").write_bytes(empty)
    if exists(source):
        (folder / _COMMON).write_bytes(empty)
    done = tools.run(["make", "-n", "-rR", "-C", where, "-f", str(rules), *_PLAIN], exported)
    if not exists(folder / f".{_NAME}.ko.cmd"):
        return None
    (folder / _COMMON).unlink(missing_ok=True)
    return done, str(source) if exists(source) else ""


def _variables(folder: Path) -> dict[str, str]:
    """Read what the dummy's Kbuild wrote down."""
    lines = (folder / "variables").read_text().splitlines()
    pairs = (line.partition("=") for line in lines)
    return {name: value.strip() for name, _, value in pairs}


class _CommandReader:
    """Turns the leftovers of a dummy build into `Commands`."""

    def __init__(
        self, build_dir: Path, folder: Path, common_source: str = "", tools: Tools = HERE
    ) -> None:
        self.tools = tools
        self.build_dir = build_dir
        self.folder = folder
        self.common_source = common_source
        self.saved: dict[str, str] = {}
        for path in sorted(folder.glob(".*.cmd")):
            for line in path.read_text("utf-8", "replace").splitlines():
                match = re.match(r"(?:saved)?cmd_(\S+) := (.*)", line)
                if match:
                    name = match[1].rpartition("/")[2]
                    text = match[2].replace("$(pound)", "#").replace("\\#", "#")
                    self.saved[name] = text.replace("$$", "$")

    def read(self) -> Commands:
        compile_one, *after_one = self.steps("one.o", OBJECT)
        compile_two, *after_two = self.steps("two.o", OBJECT)
        compile_one, compile_two = self.compiler(compile_one), self.compiler(compile_two)
        if compile_one != compile_two or after_one != after_two:
            raise CaptureError("kbuild compiles two equal files in different ways")
        link, *after_link = self.steps(f"{_NAME}.o", OUTPUT)
        final, *after_final = self.steps(f"{_NAME}.ko", OUTPUT)
        if after_final:
            raise CaptureError("kbuild changes a module after its last link")
        for words, wanted in (
            (compile_one, (SOURCE, OBJECT)),
            (link, (INPUTS, OUTPUT)),
            (final, (INPUTS, OUTPUT)),
        ):
            if any(place not in words for place in wanted):
                raise CaptureError("kbuild's commands have an unknown shape: " + " ".join(words))
        template, versions = _template((self.folder / f"{_NAME}.mod.c").read_text())
        common = self.folder / _COMMON
        return Commands(
            compile_one,
            after_one,
            link,
            after_link,
            final,
            template,
            versions,
            common.read_bytes() if exists(common) else b"",
            self.environment(),
            self.common_source,
        )

    def environment(self) -> dict[str, str]:
        """Return what kbuild exports and its helper programs read."""
        values = _variables(self.folder)
        return {name: values[name] for name in ("SRCARCH", "ARCH")}

    def steps(self, target: str, place: str) -> list[list[str]]:
        """List the commands for one target, with ``place`` for the target itself."""
        text = self.saved.get(target)
        if text is None:
            raise CaptureError(f"kbuild left no command for {target}")
        commands = []
        for part in text.split(";"):
            if _SHELL.search(re.sub(r"'[^']*'", "", part)):
                raise CaptureError(f"kbuild uses the shell for {target}: {part.strip()}")
            words = shlex.split(part)
            if words and words not in (["true"], [":"]):
                commands.append(self.words(words, target, place))
        if not commands:
            raise CaptureError(f"kbuild left an empty command for {target}")
        return commands

    def words(self, words: list[str], target: str, place: str) -> list[str]:
        """Put placeholders and absolute paths into one command."""
        names = {str(self.folder / target): place, target: place}
        parts = {f"{_NAME}.o", f"{_NAME}.mod.o", _COMMON}
        if target.endswith(".o"):
            names[str(self.folder / target.replace(".o", ".c"))] = SOURCE
            names[target.replace(".o", ".c")] = SOURCE
            parts = {"one.o", "two.o", f"@{_NAME}.mod"}
        result: list[str] = []
        for word in words:
            name = word.replace(str(self.folder) + "/", "")
            if name in parts and names.get(name) != place:
                if INPUTS not in result:
                    result.append(INPUTS)
            elif word in names:
                result.append(names[word])
            else:
                result.append(self.absolute(word))
        result[0] = self.program(result[0])
        return result

    def program(self, name: str) -> str:
        path = self.tools.find(name)
        if path is None:
            raise CaptureError(f"{name} is not there")
        return path

    def absolute(self, word: str) -> str:
        """Make a word's path absolute: kbuild runs in the kernel's folder, we run anywhere."""
        match = _PATH_OPTION.match(word)
        option, path = (match[1], match[2]) if match else ("", word)
        if path.startswith("/") or (path.startswith("-") and not match):
            return word
        full = self.build_dir / path
        if "/" in path and exists(full):
            return option + os.path.normpath(full)
        return word

    def compiler(self, words: list[str]) -> list[str]:
        """Drop debug information, dependency files and the dummy's name from a compiler's words."""
        kept = [
            word
            for word in words
            if not (_DEBUG.match(word) or _DEPENDENCIES.match(word) or _IDENTITY.match(word))
        ]
        if str(self.folder) in " ".join(kept) or _NAME in " ".join(kept):
            raise CaptureError("kbuild names the module in an unknown option")
        # One name for all, since the precompiled header has it built in.
        names = [
            '-DKBUILD_BASENAME="stapy"',
            '-DKBUILD_MODNAME="stapy"',
            "-D__KBUILD_MODNAME=kmod_stapy",
        ]
        if any(word.startswith("-DKBUILD_MODFILE=") for word in words):
            names.append('-DKBUILD_MODFILE="stapy"')
        return [kept[0], *names, *kept[1:]]


def _template(text: str) -> tuple[str, bool]:
    """Cut the tables of symbols out of ``X.mod.c``; return the rest, and if it had CRCs."""
    if "__version_ext" in text and "____versions" not in text:
        raise CaptureError("kbuild writes the CRC table in a new format only")
    versions = "____versions" in text
    text = re.sub(
        r"static const struct modversion_info ____versions\[\].*?\n};\n", "", text, flags=re.DOTALL
    )
    text = re.sub(r'MODULE_INFO\(depends, "[^"]*"\);\n?', "", text)
    if "__version_ext" in text or "__this_module" not in text:
        raise CaptureError("kbuild's module description has an unknown shape")
    text = text.replace("KBUILD_MODNAME", "STAPY_MODULE_NAME")
    return text.rstrip() + "\n", versions


def load(data: dict[str, Any], common: bytes) -> Commands:
    """Rebuild the commands from `Commands.as_data` and the common object."""
    return Commands(common=common, **data)
