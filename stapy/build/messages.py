"""From what compilers print to what a user can act on.

Three kinds of places: the user's own embedded C (found by ``#line``), stapy's
runtime (this kernel is not known yet), C that we generated (our mistake).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.arch import ARCHITECTURES, host
from stapy.build.brackets import unbalanced
from stapy.build.modpost import Imports, refusal
from stapy.build.resources import tight_limits
from stapy.diagnostics import NOWHERE, Span
from stapy.kernel.offers import lacks, way_to
from stapy.kernel.roots import with_headers
from stapy.paths import is_file
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics, SourceMap
    from stapy.translate.source import ModuleSource

KIND = "build error"
_MOST = 5  # messages about one compiler run; the log has the rest

_PROBLEM = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<kind>(?:fatal )?error|warning|note): (?P<text>.*)$",
    re.MULTILINE,
)
_CONSEQUENCE = re.compile(r"^control reaches end|^'\w+' defined but not used")
_NO_EXPORT = re.compile(r'modpost: "(\w+)" \[[^\]]*\] undefined!')
_REFUSED = (
    re.compile(r"modpost: GPL-incompatible module \S+ uses GPL-only symbol '(?P<name>\w+)'"),
    re.compile(r"modpost: module \S+ uses symbol (?P<name>\w+) from namespace (?P<space>\w+),"),
)
_LINE_MARK = re.compile(r'^#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"')
_COMMENT_MARK = re.compile(r"/\* (?:.* at )?(\S+?):(\d+)(?::(\d+))? ?\*/")
_NOT_FOUND = re.compile(
    r"^(?:/bin/sh: (?:\d+: |line \d+: )?|make(?:\[\d+\])?: )(?P<program>[\w./+-]+): "
    r"(?:not found|command not found|No such file or directory)",
    re.MULTILINE,
)
# Program -> Debian package, when it is not called the same.
_PACKAGES = {
    "ld": "binutils",
    "as": "binutils",
    "ar": "binutils",
    "cc": "gcc",
    "cc1": "gcc",
}
# Those of LLVM, with or without a version: of a name, the package's.
_OF_LLVM = re.compile(r"(?:ld\.(?P<linker>lld)|(?P<llvm>llvm)-\w+)(?P<version>-\d+)?")


class Problem(Record):
    """One error or warning of the compiler."""

    file: str
    line: int
    column: int
    is_error: bool
    text: str
    # Where the macro stands that the place is in, and those around it.
    uses: list[tuple[str, int, int]] = new(list)


def problems(log: str) -> list[Problem]:
    """List the compiler's messages in their order, without the source lines it draws."""
    found: list[Problem] = []
    for match in _PROBLEM.finditer(log):
        place = match["file"], int(match["line"]), int(match["column"] or 1)
        if match["kind"] != "note":
            text = _option_removed(match["text"])
            found.append(Problem(*place, match["kind"] != "warning", text))
        elif found and match["text"].startswith("in expansion of macro"):
            found[-1].uses.append(place)
    return found


def _option_removed(text: str) -> str:
    """Cut the ``[-Werror=…]`` off a text's end: nobody set that option by hand."""
    return re.sub(r" \[-W[\w=-]+\]$", "", text)


def span_of_line(
    sources: SourceMap, name: str, line: int, column: int = 1, message: str = ""
) -> Span | None:
    """Find the place in a script that ``name:line:column`` means, None when no source has it.

    Columns are not to be trusted: a compiler counts the columns of a screen where it can read
    the script to find its tabs, else bytes, old ones always bytes.  So a name that ``message``
    quotes is looked for near the column, and the word that it says there is.
    """
    for number, source in enumerate(sources.sources):
        if name not in (source.name, sources.name_in_library(source.name)) and (
            Path(source.name).resolve() != Path(name).resolve()
        ):
            continue
        start = 0
        for _ in range(line - 1):
            start = source.text.find("\n", start) + 1
            if start == 0:
                return None
        end = source.text.find("\n", start)
        end = len(source.text) if end < 0 else end
        text = source.text[start:end]
        at = _column(text, column, message, Path(name).is_absolute() and is_file(name))
        word = re.compile(r"\w+|.?").match(text, at)
        return Span(number, start + at, start + (word.end() if word else at))
    return None


def _column(text: str, column: int, message: str, is_readable: bool) -> int:
    """Find the offset in a line that a compiler's column and message point at."""
    places = [
        match.start()
        for name in re.findall(r"'(\w+)'", message)
        for match in re.finditer(rf"\b{name}\b", text)
    ]
    if places:
        return min(places, key=lambda place: abs(len(text[:place].expandtabs()) + 1 - column))
    if column <= 1:
        return len(text) - len(text.lstrip())
    last = max(len(text) - 1, 0)
    wide = next((at for at in range(last) if len(text[:at].expandtabs()) + 1 >= column), last)
    ways = [wide, min(column - 1, last)] if is_readable else [min(column - 1, last), wide]
    token = re.search(r"before '(\W+)' token", message)
    return next((at for at in ways if token and text.startswith(token[1], at)), ways[0])


def script_place(text: str, line: int) -> tuple[str, int] | None:
    """Find the script line behind a line of generated C, by the last mark above it, or None."""
    place: tuple[str, int] | None = None
    for number, content in enumerate(text.splitlines()[:line], 1):
        mark = _LINE_MARK.match(content)
        if mark:
            place = (mark[2], int(mark[1]) + line - number - 1)
            continue
        comment = _COMMENT_MARK.search(content)
        if comment:
            place = (comment[1], int(comment[2]))
    return place


class Reporter:
    """Turns one failure into diagnostics."""

    def __init__(
        self, diagnostics: Diagnostics, release: str, source: ModuleSource, image: str = ""
    ) -> None:
        self.image = image
        self.diagnostics = diagnostics
        self.release = release
        self.source = source

    @property
    def sources(self) -> SourceMap:
        """The texts that places are looked up in."""
        return self.diagnostics.sources

    # --- the compiler ----------------------------------------------------

    def script_errors(self, log: str) -> bool:
        """Report errors in the script's embedded C; false when there are none."""
        found: list[tuple[str, Span]] = []
        for problem in problems(log):
            if problem.is_error:
                places = [(problem.file, problem.line, problem.column), *problem.uses]
                spans = [span_of_line(self.sources, *at, problem.text) for at in places]
                span = next((span for span in spans if span is not None), None)
                if span is not None:
                    found.append((problem.text, span))
        # A statement with an error is dropped, and what follows from that is no news.
        fresh = [item for item in found if not _CONSEQUENCE.search(item[0])] or found
        for text, span in fresh[:_MOST]:
            hint = self._hint(text, span)
            if hint:  # the compiler's own guess is among the kernel's names
                text = text.partition("; did you mean")[0]
            text = f"embedded C: {text}"
            self.diagnostics.error(KIND, "E0404", text, span, where="here", hint=hint)
        return bool(found)

    def bad_brackets(self) -> bool:
        """Report brackets of embedded C without a partner; false when there are none."""
        found = False
        for number, source in enumerate(self.sources.sources):
            if source.is_library or source.parent is not None:
                continue
            for at, what in unbalanced(source.text):
                span, found = Span(number, at, at + 1), True
                self.diagnostics.error(KIND, "E0404", f"embedded C: {what}", span, where="here")
        return found

    def _hint(self, text: str, span: Span) -> str:
        if "undeclared" not in text:
            return ""
        if "'STAP_RETVALUE'" in text:
            return "give the function a type, long or string: function name:long (…)"
        if "'STAP_ARG_" in text:
            return "STAP_ARG_x is parameter x of the function"
        source = self.sources.sources[span.source].text
        start = source.rfind("\n", 0, span.start) + 1
        if "@const" in source[start : span.start]:
            return "when it is a macro of a kernel header, say %{ #include <…> %}"
        return ""

    def compiler(self, log: str, runtime: Path, keep: Callable[[], str]) -> None:
        """Report a failed compilation; ``keep`` stores the log and gives its path."""
        if self.bad_brackets() or self.script_errors(log):
            return
        imports = refused_imports(log)
        if imports is not None:
            self.imports(imports, {}, "")
            return
        errors = [problem for problem in problems(log) if problem.is_error]
        note = f"the whole output of the tools is in {keep()}"
        for problem in errors:
            member = runtime_member(problem.file, runtime)
            if member is not None:
                self.unknown_kernel(member, f"{member}:{problem.line}: {problem.text}", note)
                return
        if not errors:
            missing = missing_program(log)
            if missing:
                self.no_program(missing)
                return
            lines = log.strip().splitlines()
            last = [one for one in lines if "error:" in one][:1] or lines[-1:]
            last = last or ["it printed nothing"]
            self.diagnostics.error(
                KIND,
                "E0403",
                f"the kernel's build system failed for {self.release}",
                notes=[last[0].strip(), note],
                hint=tight_limits()
                or "see whether an empty module can be built with these headers",
            )
            return
        first = errors[0]
        span, where = self.behind(first)
        self.diagnostics.error(
            KIND,
            "E0406",
            "the generated C does not compile: this is our mistake",
            span,
            where=where,
            notes=[f"{Path(first.file).name}:{first.line}: {first.text}", note],
            hint="please report it with the script and that file",
        )

    def behind(self, problem: Problem) -> tuple[Span, str]:
        """Find the script's place behind an error in generated C, and words for its label."""
        text = self.source.files.get(Path(problem.file).name)
        if text is None:
            text = next(iter(self.source.files.values()), "")
        place = script_place(text, problem.line)
        span = span_of_line(self.sources, *place) if place else None
        return (span, "the C for this") if span else (NOWHERE, "")

    # --- the rest --------------------------------------------------------

    def unknown_kernel(self, member: str, *notes: str) -> None:
        """Report a part of the runtime that does not fit to this kernel."""
        self.diagnostics.error(
            KIND,
            "E0405",
            f"stapy does not know kernel {self.release} yet (family {family_of(member)})",
            notes=list(notes),
            hint="docs/wall.md has the kernels that were tried; please report this one's release",
        )

    def imports(self, imports: Imports, broken: dict[str, str], kept: str) -> None:
        """Report symbols that a module cannot have."""
        ours = [name for name in imports.missing if name.startswith("stapy_")]
        if ours and broken:
            for member, log in broken.items():
                said = [p.text for p in problems(log) if p.is_error]
                said += [line for line in log.splitlines() if "error:" in line]  # of no place
                first = said[0] if said else "it was refused"
                self.unknown_kernel(
                    member, f"{member}: {first}", f"the whole output of the tools is in {kept}"
                )
            return
        for name in imports.missing[:_MOST]:
            self.diagnostics.error(
                KIND,
                "E0407",
                f"kernel {self.release} does not export '{name}' to modules",
                self.use_of(name),
                hint="use something that Module.symvers lists, or kallsyms at run time",
            )
        for name, reason in imports.refused[:_MOST]:
            self.diagnostics.error(KIND, "E0407", f"'{name}' {reason}", self.use_of(name))

    def use_of(self, name: str) -> Span:
        """Find where the script uses a C name, as far as the marks in the C tell; else NOWHERE."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        for text in self.source.files.values():
            for number, line in enumerate(text.splitlines(), 1):
                if word.search(line):
                    place = script_place(text, number)
                    span = span_of_line(self.sources, *place) if place else None
                    if span:
                        return span
        return NOWHERE

    def no_headers(self, build_dir: Path | None, *, is_elsewhere: bool = False) -> None:
        """Report that there is nothing to build modules with.

        ``is_elsewhere``: the kernel is that of another host, and no other one will do.
        """
        hint = way_to("headers", self.release)
        hint = hint or f"install the headers of kernel {self.release}"
        others = [] if is_elsewhere else [one for one in with_headers() if one != self.release]
        if others:
            line = ".".join(others[-1].split(".")[:2])
            hint += f"; -r {line} makes the module for kernel {others[-1]}, whose headers are here"
        where = build_dir or f"/lib/modules/{self.release}/build"
        self.diagnostics.error(
            KIND,
            "E0401",
            f"missing kernel headers for {self.release}",
            notes=[
                f"{where} is not a kernel build tree",
                *(["modules for other hosts are made here"] if is_elsewhere else []),
                *([f"there are headers of {', '.join(others)}"] if others else []),
            ],
            hint=hint,
        )

    def no_program(self, program: str) -> None:
        """Report a missing tool."""
        name = Path(program).name
        hint = f"the image {self.image} must have it" if self.image else ""
        self.diagnostics.error(
            KIND,
            "E0402",
            f"the program {name} is missing, which makes modules for kernel {self.release}",
            hint=hint or way_to_program(name, self.release),
        )

    def container(self, reason: str, hint: str) -> None:
        """Report a container that cannot be had."""
        self.diagnostics.error(KIND, "E0408", f"cannot build in a container: {reason}", hint=hint)


def refused_imports(log: str) -> Imports | None:
    """Find what the kernel's own modpost refused, None when it refused nothing."""
    missing = list(dict.fromkeys(_NO_EXPORT.findall(log)))
    refused = []
    for pattern in _REFUSED:
        for match in pattern.finditer(log):
            refused.append((match["name"], refusal(match.groupdict().get("space") or "")))
    return Imports([], missing, refused) if missing or refused else None


def way_to_program(name: str, release: str) -> str:
    """Say how to get a program that modules of a kernel are built with."""
    prefix, program = _split_program(name)
    package = _PACKAGES.get(program, program)
    if of_llvm := _OF_LLVM.fullmatch(program):
        package = (of_llvm["linker"] or of_llvm["llvm"]) + (of_llvm["version"] or "")
    machine = next((one for one in ARCHITECTURES.values() if one.cross == prefix), None)
    if prefix and machine is None:
        return f"'{prefix}' is what CROSS_COMPILE says: give it the beginning of a compiler's name"
    if machine is not None and machine is not host():
        return f"apt-get install {package}-{prefix.rstrip('-')}"
    if package.startswith("gcc-") and lacks(package):
        return f"apt has no {package}, a container can: stapy --build-in=auto -r {release} …"
    return f"apt-get install {package}"


def _split_program(name: str) -> tuple[str, str]:
    """Split a compiler's or linker's name behind what CROSS_COMPILE says, which may be nothing."""
    found = re.fullmatch(r"(.*-|)(gcc(?:-\d+)?|ld|as|ar)", name)
    return (found[1], found[2]) if found else ("", name)


def missing_program(log: str) -> str | None:
    """Find the program that a shell or make did not find, None when there is none."""
    match = _NOT_FOUND.search(log)
    return match["program"] if match else None


def runtime_member(file: str, runtime: Path) -> str | None:
    """Return the path below the runtime's folder, None for a file that is elsewhere.

    kbuild compiles a copy in a folder ``runtime``, and its macro-prefix maps cut
    the front off; so the end of the path decides.
    """
    path = Path(file)
    if runtime in path.parents:
        return path.relative_to(runtime).as_posix()
    parts = path.parts
    for at in range(1 if path.is_absolute() else 0, len(parts)):
        tail = Path(*parts[at:])
        if (at == 0 or parts[at - 1] == "runtime") and is_file(runtime / tail):
            return tail.as_posix()
    return None


def family_of(member: str) -> str:
    """Name a file of the runtime as users do: by its folder's subject, or its own name."""
    path = Path(member)
    if path.parts[0] in ("probes", "compat") or len(path.parts) == 1:
        return path.stem
    return path.parts[0]
