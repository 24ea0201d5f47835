"""Makes the pictures of README.md and docs/examples.md: `python docs/screenshots/make.py [NAME…]`.

What they show is real: programs in a terminal (`drive.py`), sessions in a virtual machine.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

import vl_convert
from PIL import Image
from rich.console import Console
from rich.style import Style
from rich.text import Text

from stapy.vm import kernels
from stapy.vm.machine import SHARE, Machine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 600
STAPY = [sys.executable, "-m", "stapy"]
WATCHED = """
global opens, written, slowest
probe syscall.openat { opens[execname()]++ }
probe syscall.write { written[execname()] <<< count }
probe kernel.function("vfs_read").return {
    us = gettimeofday_us() - @entry(gettimeofday_us())
    if (us > slowest) { slowest = us; printf("%s waited %d us for a read\\n", execname(), us) }
}
probe netfilter.ip.local_in if (slowest > 10000) { println(saddr, " -> ", daddr) }
"""
BUSY = "find /usr/share/doc -name copyright -exec cat {} + | gzip -9 | wc -c"


class Picture(NamedTuple):
    """A picture of the gallery: what is recorded, and what of it is drawn."""

    tool: str
    chosen: tuple[str, ...] = ()  # options of `stapy plot`
    words: tuple[str, ...] = ()  # arguments of the tool
    before: str = ""  # a command whose stacks those of `BUSY` are compared with


PICTURES = {
    "offcputime": Picture("offcputime"),
    "runqlat": Picture("runqlat"),
    "syscount": Picture("syscount"),
    "iosizes": Picture("iosizes", ("--global=reads",)),
    "fileslower": Picture("fileslower", ("--field=took",), ("1",)),
    "vfsstat": Picture("vfsstat"),
    "vfsstat-stacked": Picture("vfsstat", ("--chart=stacked",)),
    "profile-before": Picture("profile", before=BUSY.replace("gzip -9", "gzip -1")),
}


def svg(lines: list[list[list[object]]], title: str) -> str:
    """Draw the screen of a terminal."""
    console = Console(
        record=True, file=io.StringIO(), width=sum(len(str(piece[0])) for piece in lines[0]),
        force_terminal=True, color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    while lines and not "".join(str(piece[0]) for piece in lines[-1]).strip():
        lines.pop()
    for line in lines:
        text = Text(no_wrap=True)
        for data, front, back, is_bold, is_reversed in line:
            style = Style(color=_color(front), bgcolor=_color(back), bold=bool(is_bold),
                          reverse=bool(is_reversed))  # fmt: skip
            text.append(str(data), style)
        console.print(text, soft_wrap=True)
    drawn = console.export_svg(title=title)
    # Fonts of the network are none of a file's: the reader has one.
    start, end = drawn.index("@font-face"), drawn.rindex("@font-face")
    end = drawn.index("}", end) + 1
    return drawn[:start] + drawn[end:]


def _color(name: object) -> str | None:
    """Name a colour of pyte as rich does."""
    text = str(name)
    if text == "default":
        return None
    if len(text) == 6 and all(one in "0123456789abcdef" for one in text.lower()):
        return f"#{text}"
    text = text.replace("bright", "bright_")
    return {"brown": "yellow", "bright_brown": "bright_yellow"}.get(text, text)


def driven(command: list[str], steps: list[object], rows: int, columns: int, **more: object) -> str:
    """Write what `drive.py` is asked."""
    asked = {"command": command, "steps": steps, "size": [rows, columns], "seconds": SECONDS}
    return json.dumps({**asked, **more})


def shell() -> None:
    """Show `stapy -i`: a mistake that is told, and names that are offered."""
    script = "global opens\nprobe syscall.openat { opens[execname()]++ }\nprobe syscall.opne { }\n"
    steps: list[object] = [
        [["stap"], script.replace("\n", "\r")],
        [["did you mean"], 'probe kernel.function("vfs_re\t'],
        [["vfs_readv", "vfs_read"], "\x03\x04"],
    ]
    release = kernels.default_release()
    words = driven([*STAPY, "-i", "-r", release], steps, 24, 100)
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": home}
        done = subprocess.run([sys.executable, str(HERE / "drive.py"), words], env=env, cwd=home,
                              stdout=subprocess.PIPE, check=True)  # fmt: skip
    (HERE / "shell.svg").write_text(svg(json.loads(done.stdout), "stapy -i"))


def plot() -> None:
    """Show a flame graph of what a machine does."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as name:
        drawn = Path(name) / "plot.svg"
        words = [*STAPY, "--vm", "--plot", str(drawn), "profile.stp", "-c", f"sh -c '{BUSY}'"]
        subprocess.run(words, cwd=ROOT / "examples" / "scheduler", env=env, check=True)
        save(drawn, "plot")


def save(drawn: Path, name: str) -> None:
    """Save a chart as dots with few colours, which are small for a thousand stacks, too."""
    dots = vl_convert.svg_to_png(drawn.read_text(), scale=1)
    picture = Image.open(io.BytesIO(dots)).convert("RGB").quantize(48)
    picture.save(HERE / f"{name}.png", optimize=True)


def recorded(guest: Machine, folder: Path, one: Picture, command: str) -> Path:
    """Run a tool beside a command in a virtual machine; return what it recorded."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    (script,) = (ROOT / "examples").glob(f"*/{one.tool}.stp")
    shutil.copy(script, folder)  # charts have its name as it is given
    words = ["--format=json", "-p4", "-r", guest.release, "-m", one.tool, script.name, *one.words]
    subprocess.run([*STAPY, *words], cwd=folder, env=env, check=True)
    record = f"{one.tool}{len(list(guest.share.glob('*.jsonl')))}.jsonl"
    run = [sys.executable, "-m", "stapy.run", "--record", f"{SHARE}/{record}"]
    words = [*run, "-c", f"sh -c '{command}'", guest.push(folder / f"{one.tool}.ko")]
    done = guest.run(words, cwd="/tmp", env=env, timeout=SECONDS)
    assert done.status == 0, done.stderr.decode()
    return guest.share / record


def gallery() -> None:
    """Show what `--plot` draws of some tools: recorded in one virtual machine, drawn here."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    kept: dict[tuple[str, ...], Path] = {}
    with tempfile.TemporaryDirectory() as name, Machine(kernels.default_release()) as guest:
        for picture, one in PICTURES.items():
            key = (one.tool, *one.words)
            if key not in kept:
                kept[key] = recorded(guest, Path(name), one, BUSY)
            chosen = list(one.chosen)
            if one.before:
                chosen += ["--before", str(recorded(guest, Path(name), one, one.before))]
            drawn = Path(name, f"{picture}.svg")
            words = [*STAPY, "plot", str(kept[key]), "-o", str(drawn), *chosen]
            subprocess.run(words, env=env, check=True)
            save(drawn, picture)


def monitor() -> None:
    """Show `--monitor`: probes with hits and costs, globals, what the script has printed."""
    release = kernels.default_release()
    steps: list[object] = [[["sort"], "s"], [["sorted by hits", "us for a read"], "q"]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        words = ["--monitor", "-p4", "-r", release, "-m", "watched", "-e", WATCHED]
        subprocess.run([*STAPY, *words], cwd=folder, env=environment, check=True)
        with Machine(release) as guest:
            run = [sys.executable, "-m", "stapy.run", "-M", "1"]
            words = [*run, guest.push(Path(folder, "watched.ko"))]
            driver = guest.push(HERE / "drive.py")
            asked = driven(words, steps, 30, 110, moves=True)
            busy = f'(while :; do {BUSY} >/dev/null 2>&1; done) & exec "$0" "$@"'
            words = ["sh", "-c", busy, sys.executable, driver, asked]
            done = guest.run(words, cwd="/tmp", env=environment, timeout=SECONDS)
    assert done.status == 0, done.stderr.decode()
    (HERE / "monitor.svg").write_text(svg(json.loads(done.stdout), "stapy --monitor"))


if __name__ == "__main__":
    makers = {"shell": shell, "plot": plot, "monitor": monitor, "gallery": gallery}
    parser = ArgumentParser(prog="docs/screenshots/make.py", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(makers))
    names = parser.parse_args().names
    if not makers.keys() >= {*names}:
        parser.error(f"there are {', '.join(makers)}")
    for wanted in names or makers:
        makers[wanted]()
