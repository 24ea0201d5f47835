"""What is told of the frames of user stacks: source lines, build-ids with offsets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled, run
from tests.vm.safety.support import make, shell
from tests.vm.user_tables import PRINTED, kept_tables

pytestmark = [pytest.mark.build, pytest.mark.vm]


LINES = """
probe process("{path}").function("leaf").call {{
    if (hits++) next
    printf("%s|%s|%s|%s\\n", usymfile(uaddr()), usymline(uaddr()), usymfileline(uaddr()),
           usymfileline(0x1234))
    print_ubacktrace_fileline()
    where[usymfileline(ustack(1) - 1)]++
}}
probe process("{path}").function("middle").return {{ if (hits == 1) print_ubacktrace_fileline() }}
probe end {{ foreach (line in where) printf("%s %d\\n", line, where[line]) }}
global hits, where
"""


@pytest.mark.parametrize("options", [["-g", "-pie", "-fPIE"], ["-g", "-no-pie"], []])
def test_source_lines(guest: Machine, release: str, tmp_path: Path, options: list[str]) -> None:
    """Tell the lines of the debug information at the hit; the address where there is none."""
    path = compiled(tmp_path, PRINTED, "-O2", "-fomit-frame-pointer", *options, name="program")
    modules = make(release, tmp_path, work=LINES.format(path=path))
    known = kept_tables(tmp_path, path, source_lines=True)
    lines, result = shell(guest, modules, f"{known} $run -c {path} $work 2>&1")
    text, source = "\n".join(lines), re.escape(f"{path}.c")
    hex_number = "0x[0-9a-f]+"

    def frame(name: str, line: str) -> str:
        at = rf" at {source}:{line}" if options else ""
        return (
            rf" {hex_number} : {name}\+{hex_number}/{hex_number}{at} \[{re.escape(str(path))}\]\n"
        )

    if options:
        first = rf"{source}\|3\|{source}:3\|0x1234\n"
    else:
        first = rf"({hex_number})\|\1\|\1\|0x1234\n"
    stack = frame("leaf", "3") + frame("middle", "4") + frame("compare", "7")
    assert re.search(first + stack, text), (lines, result.stderr)
    assert re.search("Returning from: " + frame("middle", "4"), text), lines
    assert re.search("Returning to  : " + frame("compare", "7"), text), lines
    assert re.search(frame("main", "13"), text), lines
    assert re.search((rf"^{source}:4" if options else rf"^{hex_number}") + " 1$", text, re.M), lines


BUILDS = """
global hits
probe process("{path}").function("leaf") {{
    if (hits++) next
    print("names\\n", sprint_ubacktrace(), "text\\n", sprint_ubacktrace_buildid(), "printed\\n")
    print_ubacktrace_buildid()
}}
probe syscall.exit_group {{
    if (pid() != target()) next
    println("kernel")
    print_ubacktrace_buildid()
}}
probe end {{ println("end") }}
"""


def located(line: str, file: Path) -> list[str]:
    """Find what a line of builds means in the file, by each of the function's names."""
    offset = int(line.rpartition("+")[2], 16)
    parts = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", run("readelf", "-lW", str(file)))
    address = next(
        offset - int(start, 16) + int(linked, 16)
        for start, linked, size in parts
        if 0 <= offset - int(start, 16) < int(size, 16)
    )
    rows = [row.split() for row in run("nm", "-n", str(file)).splitlines()]
    before = [(int(row[0], 16), row[2]) for row in rows if row[1] in "tTwWiI" and row[2:]]
    start = max(at for at, _ in before if at <= address)
    return [f"{name}+{address - start:#x}" for at, name in before if at == start]


@pytest.mark.parametrize("how", ["-pie", "-no-pie", "-static", "-Wl,--build-id=none"])
def test_builds(guest: Machine, release: str, tmp_path: Path, how: str) -> None:
    """Names that are looked up elsewhere are those that are known here."""
    options = ["-O2", "-fPIE", "-fomit-frame-pointer", "-Wl,--build-id", how]
    path = compiled(tmp_path, PRINTED, *options, name="program")
    modules = make(release, tmp_path, work=BUILDS.format(path=path))
    lines, result = shell(guest, modules, f"{kept_tables(tmp_path, path)} $run -c {path} $work")
    text = "\n".join(lines)
    parts = re.search(r"names\n(.*)\ntext\n(.*)\nprinted\n(.*)\nkernel\n(.*)\nend", text, re.S)
    assert parts, (lines, result.stderr)
    names, short, printed, kernel = (part.split("\n") for part in parts.groups())
    assert short == printed and len(printed) == len(names)
    libc = Path("/lib/x86_64-linux-gnu/libc.so.6").resolve()
    idents = {
        ident: file
        for file in (path, libc)
        for ident in re.findall(r"Build ID: (\w+)", run("readelf", "-n", str(file)))
    }
    assert all(line.partition("+")[0] in idents for line in kernel if "+" in line), kernel
    if how.endswith("none"):
        assert [line for line in printed if "+" in line] == printed[3:5] + printed[6:8]
        return
    assert len(printed) > 6 and all("+" in line for line in printed + kernel), (printed, kernel)
    own = [line for line in printed if idents[line.partition("+")[0]] == path]
    told = [line.split()[0] for line in names if f"[{path.name}]" in line]
    assert len(own) == len(told) > 3
    for line, name in zip(own, told, strict=True):
        assert name in located(line, path), (line, name)
