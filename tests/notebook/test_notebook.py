"""``%%stapy`` in IPython: streams, results, tables, pictures; the session is a program of ours."""

from __future__ import annotations

import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

IPython = pytest.importorskip("IPython")
from IPython.core.displaypub import CapturingDisplayPublisher  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from traitlets.config import Config  # noqa: E402

from stapy.notebook import process, tables  # noqa: E402
from stapy.notebook.live import CellOutput, LiveRecords  # noqa: E402
from stapy.notebook.result import StapyResult  # noqa: E402

BEGIN = {"type": "begin", "schema": 1, "script": "<input>", "module": "m"}
RECORDS: list[dict[str, Any]] = [
    BEGIN,
    {"type": "print", "probe": "timer.s(1)", "place": "<input>:1:2", "fields": {"n": 3, "who": "a"},
     "text": "3 a\n"},
    {"type": "print", "probe": "timer.s(1)", "place": "<input>:1:2", "fields": {"n": 5, "who": "b"},
     "text": "5 b\n"},
    {"type": "text", "text": "a stack\n"},
    {"type": "global", "name": "hits", "keys": ["<b>", 7], "value": 1234},
    {"type": "global", "name": "hits", "keys": ["cat", 8], "value": 99},
    {"type": "global", "name": "total", "value": 5},
    {"type": "global", "name": "lat", "keys": ["x"],
     "value": {"count": 2, "sum": 6, "min": 1, "max": 5, "avg": 3}},
    {"type": "error", "message": "ERROR: x"},
    {"type": "end", "errors": 1},
]  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """Make a shell without history whose displays are kept in ``display_pub.outputs``."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config()
    config.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    it = InteractiveShell.instance(config=config)
    it.display_pub = CapturingDisplayPublisher()
    it.run_cell("%load_ext stapy.notebook")
    yield it
    InteractiveShell.clear_instance()


Session = Callable[[str], list[list[str]]]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    """Have a program in place of sessions; the words of each are listed."""

    def replaced(program: str) -> list[list[str]]:
        given: list[list[str]] = []

        def command(words: list[str]) -> list[str]:
            given.append(words)
            return [sys.executable, "-c", program]

        monkeypatch.setattr(process, "session_words", command)
        return given

    return replaced


def lines(records: list[dict[str, Any]]) -> str:
    timed = [{**one, "time": 1000.0 + at} for at, one in enumerate(records)]
    return "".join(json.dumps(one) + "\n" for one in timed)


def prints(records: list[dict[str, Any]]) -> str:
    return f"print({lines(records)!r}, end='')"


def run(shell: InteractiveShell, line: str, cell: str = "probe begin {}") -> Any:
    return shell.run_cell_magic("stapy", line, cell)


def test_text_comes_and_the_status_is_returned(
    shell: InteractiveShell, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    given = session("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    result = run(shell, "-T 5 --vm -- 'a b' {shell} $HOME", "probe begin { $x }\n")
    assert given == [["--color=always", "-", "-T", "5", "--vm", "--", "a b", "{shell}", "$HOME"]]
    said = capsys.readouterr()
    assert (said.out, said.err) == ("out\n", "err\n")
    assert result.status == 3 and repr(result) == "<stapy: exit status 3>"
    assert not shell.display_pub.outputs


def test_the_line_magic_is_the_command(shell: InteractiveShell, session: Session) -> None:
    given = session("")
    assert shell.run_line_magic("stapy", "-l 'vfs.*'").status == 0
    assert given == [["-l", "vfs.*"]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--nosuch", "ERROR: unknown option '--nosuch' ('stapy --help' lists them)\n"),
        ("-T '", "ERROR: No closing quotation\n"),
        ("-i", "ERROR: -i is for terminals: a cell is edited and run again\n"),
        ("--language-server", "ERROR: --language-server is for editors\n"),
        ("--monitor", "ERROR: --monitor is for terminals; with --format=json tables and plots are "
         "shown\n"),
        ("-e x", "ERROR: Only one script can be given on the command line.\n"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line(
    shell: InteractiveShell,
    session: Session,
    line: str,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = session("")
    assert run(shell, line) is None and given == []
    assert capsys.readouterr().err == told


def test_a_cell_may_be_of_any_length(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(shell, "-p1 --color=never", "#" * (1 << 18) + "\nprobe begin { exit( }\n")
    said = capsys.readouterr()
    assert result.status == 1 and "--> <input>:2:" in said.err, said


def test_a_cell_has_arguments(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(shell, "-p1 'a b' -- -x", "probe begin { println(@1, @2) }\n")
    said = capsys.readouterr()
    assert result.status == 0 and '"a b", "-x"' in said.out, said


@pytest.mark.parametrize(
    ("line", "cell", "told"),
    [
        ("-p1 a\0b", "probe begin {}", "the line has a byte 0, which no command line can have"),
        ("-p1 \ud800", None, "the line has half a character, '\\ud800', which no file has"),
        ("-p1", "# \udfff", "the cell has half a character, '\\udfff', which no file has"),
    ],
)  # fmt: skip
def test_what_no_process_can_be_given_is_refused(
    shell: InteractiveShell,
    session: Session,
    line: str,
    cell: str | None,
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = session("")
    magic = shell.run_line_magic if cell is None else shell.run_cell_magic
    assert magic("stapy", line, *([cell] if cell else [])) is None and given == []
    assert capsys.readouterr().err == f"ERROR: {told}\n"


def test_a_byte_0_in_a_cell_is_a_mistake_of_the_script(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(shell, "-p1 --color=never", "probe begin { \0 }")
    said = capsys.readouterr()
    assert result.status == 1 and "--> <input>:1:15" in said.err, said


def test_a_mistake_in_the_script_is_shown_as_always(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real session, up to pass 1."""
    result = run(shell, "--color=never -p1", "probe begin { x = }\n")
    said = capsys.readouterr()
    assert result.status == 1 and "Traceback" not in said.err + said.out
    assert "--> <input>:1:19" in said.err and "Pass 1: parse failed." in said.err


def test_records_become_values(
    shell: InteractiveShell, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    session(prints(RECORDS) + "\nprint('of -c')\nprint('{no record}')")
    result = run(shell, "--format=json")
    assert result.rows() == [{"n": 3, "who": "a"}, {"n": 5, "who": "b"}]
    assert [one["probe"] for one in result.prints] == ["timer.s(1)"] * 2
    assert result.globals["hits"] == {("<b>", 7): 1234, ("cat", 8): 99}
    assert result.globals["total"] == 5 and result.globals["lat"]["x"]["max"] == 5
    assert result.rows("hits")[1] == {"key1": "cat", "key2": 8, "value": 99}
    assert result.rows("lat") == [{"key1": "x", "count": 2, "sum": 6, "min": 1, "max": 5, "avg": 3}]
    assert result.rows("total") == [{"value": 5}]
    with pytest.raises(KeyError, match=r"no global 'nope' has come; there are: .*hits.*, total"):
        result.rows("nope")
    with pytest.raises(KeyError, match="there are: none"):
        StapyResult().rows("nope")
    assert result.errors == ["ERROR: x"]
    assert repr(result) == "<stapy: exit status 0, 2 prints, hits[2], total, lat[1]>"
    out = capsys.readouterr().out
    assert out.startswith("3 a\n5 b\na stack\nof -c\n{no record}\n")
    # A terminal has the tables once, as text, and no displays.
    assert "hits\n  key1  key2  value\n  <b>      7  1,234\n  cat      8     99\n" in out
    assert not shell.display_pub.outputs


def test_a_notebook_has_tables_and_a_plot_in_their_places(
    shell: InteractiveShell, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    monkeypatch.setattr("stapy.notebook.live._FRESH", 0.0)
    early, late = lines(RECORDS[:5]), lines([*RECORDS[:4], *RECORDS[5:]])
    late = late[late.index('{"type": "global"') :]
    session(f"import time\nprint({early!r}, end='', flush=True)\ntime.sleep(4)\nprint({late!r})")
    run(shell, "--format=json")
    outputs = shell.display_pub.outputs
    first, *others = [one for one in outputs if "text/html" in one["data"]]
    assert not first["update"] and others and all(one["update"] for one in others)
    place = first["transient"]["display_id"]
    assert {one["transient"]["display_id"] for one in others} == {place}
    page = first["data"]["text/html"]
    assert "&lt;b&gt;" in page and "<b>" not in page and "1,234" in page and ">cat<" not in page
    assert ">cat<" in others[-1]["data"]["text/html"]
    pictures = [one["data"] for one in outputs if "image/svg+xml" in one["data"]]
    assert "bars of hits" in pictures[0]["text/plain"]
    assert pictures[-1]["image/svg+xml"].startswith("<svg")
    drawn = [re.search(r"\bcat\b", one["image/svg+xml"]) for one in pictures]
    assert drawn[-1] and not drawn[0]


def told(kind: str, when: float, name: str, value: int, *keys: str) -> dict[str, Any]:
    return {"type": kind, "time": when, "name": name, "value": value,
            **({"keys": list(keys)} if keys else {})}  # fmt: skip


END = {"type": "end", "time": 9.0, "errors": 0}


def look(*elements: dict[str, Any], name: str = "a") -> list[dict[str, Any]]:
    return [{"type": "look", "time": 1.0, "cpu": 0, "name": name}, *elements]


@pytest.mark.parametrize(
    ("more", "globals_", "complaint"),
    [
        ([END], {}, ""),
        # What the end tells is all that there is; what it does not tell is empty by now.
        ([told("global", 9.0, "n", 6), END], {"n": 6}, ""),
        ([told("global", 1.01, "a", 7, "q"), told("global", 1.02, "n", 6), END],
         {"a": {"q": 7}, "n": 6}, ""),
        # An array that was emptied is gone at the next look.
        ([*look(), told("snapshot", 2.0, "n", 7)], {"n": 7}, "the end: n is as in the last snap"),
        # A session that failed tells nothing at its end: the last look stays, and that is told.
        ([{"type": "error", "time": 9.0, "message": "x"}, {**END, "errors": 1}],
         {"a": {"y": 2, "z": 1}, "n": 5}, "the end: a, n are as in the last snapshot, which has at "
         "most 100 elements"),
    ],
)  # fmt: skip
def test_snapshots_replace_each_other(
    more: list[dict[str, Any]], globals_: dict[str, Any], complaint: str
) -> None:
    said: list[str] = []
    complaints: list[str] = []
    live = LiveRecords(CellOutput(False, said.append, complaints.append))
    first = [*look(told("snapshot", 0.0, "a", 9, "x"), told("snapshot", 0.01, "a", 8, "y")),
             told("snapshot", 0.02, "n", 4)]  # fmt: skip
    second = [*look(told("snapshot", 0.03, "a", 2, "y"), told("snapshot", 0.04, "a", 1, "z")),
              told("snapshot", 1.0, "n", 5)]  # fmt: skip
    for one in [{**BEGIN, "time": 0.0}, *first, *second, *more]:
        live.feed(json.dumps(one) + "\n")
    result = live.end(0)
    assert result.globals == globals_
    assert result.snapshots == (set(globals_) if complaint else set())
    assert bool(complaints) == bool(complaint) and complaint in "".join(complaints)


def test_a_part_of_an_array_does_not_look_like_all_of_it() -> None:
    elements = [told("snapshot", 1.0, "a", at, f"k{at}") for at in range(100)]
    for count, more in (
        (100, "… 50 or more: a snapshot has no more than 100"),
        (99, "… 49 more\n"),
    ):
        _, said = read({**BEGIN, "time": 0.0}, *look(*elements[:count]), is_notebook=False)
        assert more in "".join(said), said
    ended = [{**one, "type": "global"} for one in elements]
    _, said = read({**BEGIN, "time": 0.0}, *look(*elements), *ended, END, is_notebook=False)
    assert "… 50 more\n" in "".join(said)


def test_tables_of_emptied_arrays_go() -> None:
    shown: dict[str, list[str]] = {"tables": [], "plot": []}
    cell = CellOutput(True, print, print)
    cell.show = lambda place, bundle: shown[place].append(bundle["text/plain"])  # type: ignore
    live = LiveRecords(cell)
    for one in [*look(told("snapshot", 1.0, "a", 1, "x")), *look()]:
        live.feed(json.dumps({**BEGIN, "time": 0.0, **one}) + "\n")
        live.tick()
        live._next = 0.0
    assert "a\n" in shown["tables"][0] and shown["tables"][-1] == ""
    assert shown["plot"] in ([], ["bars of a", ""])  # without the library there is none


def read(*records: dict[str, Any] | str, is_notebook: bool = True) -> tuple[StapyResult, list[str]]:
    """Read records, and lines that are none; return what came and what was said."""
    said: list[str] = []
    cell = CellOutput(is_notebook, said.append, said.append)
    cell.show = lambda place, bundle: [text.encode() for text in bundle.values()]  # type: ignore
    live = LiveRecords(cell)
    for one in records:
        live.feed(one if isinstance(one, str) else json.dumps(one) + "\n")
        if is_notebook:
            live._draw(is_last=False)
    return live.end(0), said


TRUE = told("global", 9.0, "a", 7, "x")
STATISTIC = {"count": 2, "sum": 6, "min": 1, "max": 5, "avg": 3}


def test_a_record_behind_half_a_line_is_taken() -> None:
    """The program of -c stopped within a line, or the session began one."""
    first, row, last = TRUE, {**RECORDS[1], "time": 2.0}, told("global", 2.0, "n", 5)
    result, said = read("half {", first, 'a\n{"type": "', row, last, "rest")
    assert result.globals == {"a": {"x": 7}, "n": 5}
    assert "".join(said) == 'half {a\n{"type": "3 a\nrest\n' and len(result.prints) == 1


@pytest.mark.parametrize(
    ("forged", "is_text"),
    [
        (told("global", 1.0, "a", 7, "x", "y"), False),
        (told("global", 1.0, "a", 7), False),
        ({**TRUE, "value": STATISTIC}, False),
        ({**TRUE, "value": {"count": 3}}, False),
        ({**TRUE, "value": {}}, True),
        ({**TRUE, "value": None}, True),
        ({**TRUE, "keys": [[]]}, True),
        ({**TRUE, "keys": {}}, True),
        ({**TRUE, "name": 5}, True),
        ({**TRUE, "host": []}, True),
        ({**TRUE, "stack": 5}, True),
        ({**TRUE, "type": "snapshot", "time": "now"}, True),
        ({**TRUE, "time": float("nan")}, True),
        ({**TRUE, "type": "snapshot", "time": True}, True),
        ({**RECORDS[1], "time": 1.0, "text": None}, True),
        ({"type": "print", "time": 1.0, "place": "x", "fields": {"n": 1}}, True),
        ({**RECORDS[1], "time": 1.0, "fields": []}, True),
        ({**RECORDS[1], "time": 1.0, "fields": {}}, False),
        ({**RECORDS[1], "time": 1.0, "fields": {"other": "x"}}, False),
        ({**BEGIN, "time": 1.0, "schema": 99}, True),
        ({"type": "error", "time": 1.0}, True),
        ({"type": "of -c", "time": 1.0}, True),
        ({"type": ["print"], "time": 1.0}, True),
        ({"type": "end", "time": 1.0, "errors": 0}, False),
        ({**RECORDS[1], "time": 1.0, "text": "\ud800"}, False),
        (told("global", 1.0, "b\ud800", 1, "\udfff"), False),
    ],
)  # fmt: skip
def test_what_the_program_of_c_prints_spoils_nothing(forged: dict[str, Any], is_text: bool) -> None:
    """Whatever looks like a record: the true ones stay, and nothing is a traceback."""
    true_print = {**RECORDS[1], "time": 3.0}
    for order in ([forged, TRUE], [told("snapshot", 0.5, "a", 1, "z"), forged, forged, TRUE]):
        result, said = read({**BEGIN, "time": 0.0}, *order, true_print)
        assert result.globals["a"]["x"] == 7 and result.prints[-1] == true_print
        assert ("".join(said).count(json.dumps(forged)) == order.count(forged)) == is_text
        "".join(said).encode()
        assert result.rows() and result.rows("a") and repr(result)
    read(TRUE, forged)


def test_a_line_without_end_costs_its_length() -> None:
    live = LiveRecords(CellOutput(False, lambda text: None, lambda text: None))
    began = time.process_time()
    for piece, count in (("x" * (1 << 14), 4000), ('{"type": "x"}' * (1 << 10), 300)):
        for _ in range(count):
            live.feed(piece)
        live.feed("\n")
    assert time.process_time() - began < 10
    live.end(0)


def test_a_notebook_without_the_library_says_so_once(
    shell: InteractiveShell,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    monkeypatch.setattr("stapy.plot.files.find_spec", lambda name: None)
    session(prints(RECORDS))
    assert run(shell, "--format=json").status == 0
    assert capsys.readouterr().err.count("pip install 'stapy[plot]'") == 1
    assert all("image/svg+xml" not in one["data"] for one in shell.display_pub.outputs)


WAITS = r"""
import signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append("INT"))
signal.signal(signal.SIGTERM, lambda *_: got.append("TERM"))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
print("armed", flush=True)
while len(got) < NEED:
    time.sleep(0.02)
print("ended by", *got, flush=True)
"""


@pytest.mark.parametrize(
    ("need", "told", "status"),
    [(1, "ended by INT\n", 0), (2, "ended by INT TERM\n", 0), (9, "armed\n", 128 + signal.SIGKILL)],
)
def test_interrupts_end_the_session(
    shell: InteractiveShell,
    session: Session,
    need: int,
    told: str,
    status: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first one as Ctrl-C does; who goes on means it.  No traceback comes of them."""
    session(WAITS.replace("NEED", str(need)))

    def interrupt() -> None:
        time.sleep(2)
        for _ in range(min(need, 3)):
            time.sleep(0.7)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = run(shell, "")
    finally:
        signal.signal(signal.SIGINT, before)
        thread.join()
    said = capsys.readouterr()
    assert result.status == status, said
    assert told in said.out and said.err == ""


@pytest.fixture
def default_interrupts() -> Iterator[None]:
    """Have SIGINT raise KeyboardInterrupt, as IPython does while a cell runs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.parametrize(
    "place",
    ["stapy.notebook.process._Streams.__init__", "stapy.notebook.live.LiveRecords._take",
     "stapy.notebook.live.LiveRecords.tick", "stapy.notebook.live.LiveRecords.end",
     "subprocess.Popen.__init__"],
)  # fmt: skip
def test_an_interrupt_loses_nothing_of_what_has_come(
    shell: InteractiveShell, session: Session, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    session(prints([BEGIN, *RECORDS[1:2] * 300, *RECORDS[4:]]) + "\nimport time; time.sleep(1)")
    owner, _, name = place.rpartition(".")
    work = getattr(pkgutil.resolve_name(owner), name)
    done: list[str] = []

    def interrupted(*args: Any, **named: Any) -> Any:
        if not done:
            done.append(place)
            os.kill(os.getpid(), signal.SIGINT)
        return work(*args, **named)

    monkeypatch.setattr(place, interrupted)
    result = run(shell, "--format=json")
    assert done and (len(result.prints), len(result.globals), result.status) == (300, 3, 0)


@pytest.mark.usefixtures("default_interrupts")
def test_who_goes_on_interrupting_gets_out(shell: InteractiveShell, session: Session) -> None:
    """Even if something that the session started, and that it does not end, has its streams."""
    session(
        "import os, time\n"
        "if not os.fork():\n    os.setsid()\n    time.sleep(20)\n    os._exit(0)\n"
        "print('begun', flush=True)"
    )
    heard = threading.Event()

    def interrupt() -> None:
        heard.wait(60)
        for _ in range(4):
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        heard.set()
        run(shell, "")
    thread.join()
    assert time.monotonic() - began < 15


def test_a_session_that_is_interrupted_at_once_has_no_traceback() -> None:
    """The signal waits until there is somebody who can obey it."""
    told: list[str] = []
    with process.Interrupts() as interrupts:
        interrupts._hear(signal.SIGINT, None)
        words = process.session_words(["-p1", "-e", "probe begin {}"])
        status = process.run(words, b"", told.append, told.append, lambda: None, interrupts)
    assert status == 1 and "Traceback" not in "".join(told)


def test_a_session_ends_with_its_kernel(tmp_path: Path) -> None:
    """A kernel that is killed leaves none behind: the child hears of its death."""
    (tmp_path / "waits.py").write_text(
        "import os, sys, time\nfrom stapy.notebook import child\n"
        "child.main = lambda words: (print(os.getpid(), flush=True), time.sleep(600))\n"
        "child.start(sys.argv[1:])\n"
    )
    (tmp_path / "kernel.py").write_text(
        "import os, sys\nfrom stapy.notebook import process\n"
        "def heard(text):\n"
        "    open('pid', 'w').write(text)\n"
        "    os.kill(os.getpid(), 9)\n"
        "words = [sys.executable, 'waits.py', str(os.getpid())]\n"
        "with process.Interrupts() as interrupts:\n"
        "    process.run(words, b'', heard, print, lambda: None, interrupts)\n"
    )
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "kernel.py"], cwd=tmp_path, env=env, check=False)
    assert done.returncode == -signal.SIGKILL
    session = int((tmp_path / "pid").read_text())
    for _ in range(500):
        if not Path(f"/proc/{session}").exists() or _is_dead(session):
            return
        time.sleep(0.02)
    raise AssertionError("the session lives on")


def _is_dead(pid: int) -> bool:
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()


def test_long_arrays_are_cut_and_the_greatest_stay() -> None:
    arrays = {"a": {(f"k{n}",): n for n in range(60)}}
    text = tables.as_text(arrays)
    assert text.splitlines()[2] == "  k59      59" and "  … 10 more" in text
    assert "k9<" not in tables.as_html(arrays) and "… 10 more" in tables.as_html(arrays)
    result = StapyResult()
    result.take(arrays)
    assert len(result.globals["a"]) == 60
