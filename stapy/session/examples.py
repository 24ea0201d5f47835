"""What ``--example`` finds: the gallery, by name or subject, then SystemTap's own examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.paths import data_dir, exists, is_dir, is_file
from stapy.record import Record, new
from stapy.terminal import writing

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics
    from stapy.options import Options

# What the comment at the head of a tool says, in this order; `sample` stands on lines of its own.
FIELDS = ("purpose", "subject", "needs", "usage", "sample")
_PART = 3  # letters that may be a part of a name
_FIELD = re.compile(r"# (\w+): ?(.*)")


class Example(Record):
    """A tool of the gallery and what its head says of it."""

    path: Path
    told: dict[str, str] = new(dict)

    @property
    def name(self) -> str:
        """What it is called on a command line."""
        return self.path.stem

    @property
    def subject(self) -> str:
        """The folder that it lies in."""
        return self.told.get("subject", "")


def read(path: Path) -> Example:
    """Read the head of a tool: ``# field: text``, lines behind that belong to it."""
    example = Example(path)
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        found = _FIELD.fullmatch(line)
        if found and found[1] in FIELDS:
            name, text = found[1], found[2]
            example.told[name] = text
        elif name:
            example.told[name] += "\n" + line[2:]
    return example


def gallery() -> list[Example]:
    """Read all tools, by subject and name."""
    return [read(path) for path in sorted(data_dir("examples").glob("*/*.stp"))]


def table(examples: list[Example]) -> str:
    """Lay a list out: name, subject, purpose."""
    wide = max((len(one.name) for one in examples), default=0)
    deep = max((len(one.subject) for one in examples), default=0)
    return "".join(
        f"{one.name:{wide}}  {one.subject:{deep}}  {one.told.get('purpose', '')}\n"
        for one in examples
    )


def answered(options: Options, diagnostics: Diagnostics) -> bool:
    """List or show what is asked for; False when a script is to be run, which is found then."""
    tools = gallery()
    wanted = options.script_file or ""
    if options.script_text is None and not wanted:
        writing.write(table(tools))
        return True
    about = [one for one in tools if one.subject == wanted]
    if about:
        shown = [one.path for one in about]
        writing.write("\n".join(map(_text, shown)) if options.show else table(about))
        return True
    found = find(wanted, tools, diagnostics)
    if found is None:
        return False
    if options.show:
        writing.write(_text(found))
        return True
    options.script_file = str(found)
    return False


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def find(wanted: str, tools: list[Example], diagnostics: Diagnostics) -> Path | None:
    """Find the script of a name; report a missing one."""
    for one in tools:
        if wanted in (one.name, one.path.name):
            return one.path
    folders = [folder for folder in _foreign_folders() if is_dir(folder)]
    for folder in folders:
        found = sorted(path for path in folder.rglob(Path(wanted).name) if is_file(path))
        if wanted and found:
            return found[0]
    from stapy.diagnostics.suggest import listed, nearest

    names = [one.name for one in tools]
    names += [path.name for folder in folders for path in folder.rglob("*.stp")]
    near = [name for name in names if len(wanted) >= _PART and wanted in name]
    near = near[:3] or nearest(wanted, names)[:1]
    notes = ["stapy --example lists them"]
    if folders:
        notes += [f"looked in {folder}, too" for folder in folders]
    elif wanted.endswith(".stp") and not near and exists(Path("/etc/debian_version")):
        notes.append("SystemTap's examples are not installed: apt-get install systemtap-doc")
    diagnostics.error(
        "parse error",
        "E0191",
        f"there is no example '{wanted}'",
        notes=notes,
        hint=f"did you mean {listed(near)}?" if near else "",
    )
    return None


def _foreign_folders() -> list[Path]:
    roots = [Path("/usr/share"), Path("/usr/local/share")]
    names = ("systemtap/examples", "doc/systemtap/examples", "doc/systemtap-doc/examples")
    return [root / name for root in roots for name in names]
