"""The site of the documentation: ``python docs/site/build.py [FOLDER]``, as a rule ``make site``.

What the repository has as pages is copied to where Sphinx reads it, with paths as they are, so that
every link works there and on a code host. Added are the page in front, the navigation, and a page
for each subject of the gallery. Warnings are errors: a dead link, code that has no colours.
"""

from __future__ import annotations

import re
import shutil
import sys
from argparse import ArgumentParser
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from stapy.diagnostics.explain import pages as explanations  # noqa: E402  (it need not be installed)
from stapy.manual.markdown import prose  # noqa: E402
from stapy.session import examples  # noqa: E402

_TOP = (
    "README.md",
    "CHANGES.md",
    "CONTRIBUTING.md",
    "ansible/README.md",
    "docker/README.md",
    "editors/README.md",
)
# Parts of the navigation by who reads them; a page of docs/ that is in none comes last, as "More".
_PARTS = {
    "Start": ("Overview <README>", "docs/tutorial", "docs/cookbook", "docs/examples"),
    "Coming from": ("docs/from-bpftrace", "docs/from-bcc", "docs/from-dtrace",
                    "docs/from-ftrace-perf", "SystemTap <docs/differences>"),
    "Reference": ("docs/language", "docs/probes", "docs/tapsets/index",
                  "Tapsets: differences <docs/tapsets>", "docs/user-space",
                  "docs/diagnostics", "messages", "docs/features"),
    "Operations": ("docs/tools", "docs/output", "docs/plot", "docs/metrics", "docs/monitor",
                   "docs/interactive", "docs/notebook", "docs/testing-scripts",
                   "docs/reach",
                   "Ansible <ansible/README>", "Containers <docker/README>", "docs/signing",
                   "docs/privileges",
                   "docs/safety",
                   "docs/performance", "docs/cost", "docs/wall", "docs/packages",
                   "Editors <editors/README>"),
    "Development": ("CONTRIBUTING", "docs/architecture", "docs/decisions/README", "docs/runtime",
                    "tests/README", "CHANGES"),
}  # fmt: skip
# Pages with pages below them.
_BELOW = {"docs/decisions/README": "*", "docs/examples": "../gallery/*"}
_INDENTED = re.compile(r"(?:^ {4}.*\n(?:\n(?= {4}))*)+\n?", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#:\s]+)")
_NAMED = re.compile(r"(?<!\[)`((?:\.\./)*[\w./-]+\.md)`(?!\])")


def navigation() -> str:
    """Write all parts of the navigation."""
    known = {entry.rpartition("<")[2].rstrip(">") for pages in _PARTS.values() for entry in pages}
    rest = (f"docs/{path.stem}" for path in sorted((ROOT / "docs").glob("*.md")))
    parts = {**_PARTS, "More": tuple(page for page in rest if page not in known)}
    return "\n".join(toctree(pages, caption) for caption, pages in parts.items() if pages)


def toctree(entries: tuple[str, ...], caption: str = "", prefix: str = "/") -> str:
    """Write a part of the navigation."""
    lines = ["```{toctree}", ":hidden:"]
    lines += [f":caption: {caption}"] if caption else [":glob:"]
    for entry in entries:
        title, mark, page = entry.rpartition("<")
        lines.append(f"{title}{mark}{prefix}{page}")
    return "\n".join([*lines, "```", ""])


def linked(text: str, page: str) -> str:
    """Make links of the pages that a text names in backticks."""

    def link(match: re.Match[str]) -> str:
        for base in (ROOT, (ROOT / page).parent):
            there = (base / match[1]).resolve()
            if there.is_file() and there.is_relative_to(ROOT) and _is_page(there):
                return f"[{match[0]}](/{there.relative_to(ROOT)})"
        return match[0]

    pieces = re.split(r"(^```.*?^```$|^ {4}.*$)", text, flags=re.MULTILINE | re.DOTALL)
    pieces[::2] = [_NAMED.sub(link, one) for one in pieces[::2]]
    return "".join(pieces)


def _is_page(path: Path) -> bool:
    name = path.relative_to(ROOT).as_posix()
    return name in (*_TOP, "tests/README.md") or name.startswith("docs/")


def subject_page(subject: str, tools: list[examples.Example]) -> str:
    """Write the page of a subject of the gallery: what heads of tools say, and the tools."""
    text = f"# {subject}\n\n"
    for one in tools:
        command, *printed = one.told["sample"].split("\n")
        shown = "\n".join(line.removeprefix("    ") for line in printed)
        file = f"../examples/{one.path.parent.name}/{one.path.name}"
        script = one.path.read_text(encoding="utf-8").rstrip("\n")
        needs = " ".join(one.told["needs"].split())
        usage = one.told["usage"]
        text += (
            f"## {one.name}\n\n{one.told['purpose'][:1].upper()}{one.told['purpose'][1:]}. "
            f"Needs: {needs}.\n\n```text\n{usage}\n```\n\n"
            f"```console\n# {command}\n{shown}\n```\n\n"
            f"<details><summary>The script</summary>\n\n```stap\n{script}\n```\n\n</details>\n\n"
            f"[{one.path.name}]({file})\n\n"
        )
    return text


def gallery(stage: Path) -> dict[str, str]:
    """Write the pages of the gallery; tell where each tool is."""
    tools = examples.gallery()
    (stage / "gallery").mkdir()
    for subject in sorted({one.subject for one in tools}):
        text = subject_page(subject, [one for one in tools if one.subject == subject])
        (stage / "gallery" / f"{subject}.md").write_text(text, encoding="utf-8")
    return {one.name: f"../gallery/{one.subject}.md#{one.name}" for one in tools}


def messages() -> str:
    """Write the page of all codes of messages: what ``stapy --explain`` prints."""
    text = "# Messages by code\n\n`stapy --explain CODE` prints the same.\n\n"
    for code, page in sorted(explanations().items()):
        title, _, more = page.partition("\n")
        text += f"## {code}\n\n**{prose(title)}**\n\n{prose(more.strip())}\n\n"
    return text


def copy(stage: Path, page: Path) -> None:
    """Copy a page, and the files that are no pages but linked from it."""
    name = page.relative_to(ROOT).as_posix()
    text = page.read_text(encoding="utf-8")
    for target in _LINK.findall(text):
        there = (page.parent / target).resolve()
        if there.is_file() and there.suffix != ".md" and there.is_relative_to(ROOT):
            put = stage / there.relative_to(ROOT)
            put.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(there, put)
    if name.startswith("docs/tapsets/"):
        text = _INDENTED.sub(lambda block: f"```stap\n{dedent(block[0]).strip()}\n```\n\n", text)
        orphan = "" if name.endswith("/index.md") else "---\norphan: true\n---\n"
        text = orphan + text
    else:
        text = linked(text, name)
    below = _BELOW.get(name.removesuffix(".md"))
    if below:
        text += "\n" + toctree((below,), prefix="")
    put = stage / name
    put.parent.mkdir(parents=True, exist_ok=True)
    put.write_text(text, encoding="utf-8")


def make_stage(stage: Path) -> None:
    """Put together what Sphinx reads."""
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    shutil.copytree(ROOT / "examples", stage / "examples")
    docs = [path for path in (ROOT / "docs").rglob("*.md") if "site" not in path.parts[-2:]]
    for page in [*docs, *(ROOT / name for name in _TOP), ROOT / "tests/README.md"]:
        copy(stage, page)
    places = gallery(stage)
    table = stage / "docs/examples.md"
    text = table.read_text(encoding="utf-8")
    for tool, place in places.items():
        text = text.replace(f"\n| `{tool}` |", f"\n| [`{tool}`]({place}) |")
    table.write_text(text, encoding="utf-8")
    (stage / "messages.md").write_text(messages(), encoding="utf-8")
    front = (ROOT / "docs/site/index.md").read_text(encoding="utf-8")
    front = front.replace("](../../", "](").replace("](../", "](docs/")
    front += navigation()
    (stage / "index.md").write_text(front, encoding="utf-8")


def main(words: list[str]) -> int:
    """Build the site; return what Sphinx says."""
    parser = ArgumentParser(prog="docs/site/build.py", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default=ROOT / "build/site")
    output = Path(parser.parse_args(words).folder).resolve()
    from sphinx.cmd.build import main as sphinx

    stage = output.with_name(f"{output.name}-source")
    shutil.rmtree(output, ignore_errors=True)
    make_stage(stage)
    options = ["-q", "-W", "--keep-going", "-n", "-b", "html", "-d", f"{stage}.trees"]
    status = sphinx([*options, "-c", str(ROOT / "docs/site"), str(stage), str(output)])
    if status == 0:
        print(f"{output}/index.html")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
