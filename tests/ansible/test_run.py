"""stapy_run over Ansible's own local connection, with a stapy and stapy-run that are played."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible.release", reason="ansible-core is not installed")

from tests.ansible.support import play

pytestmark = pytest.mark.slow

FAKE = Path(__file__).with_name("fake_stapy.py")
TASK = "stapy.tracer.stapy_run"


@pytest.fixture(autouse=True)
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the file to which the played stapy adds a line for each build."""
    monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
    return tmp_path / "builds"


def run(
    folder: Path, tasks: list[dict[str, Any]], *words: str, hosts: int = 1, **keys: Any
) -> dict[str, list[dict[str, Any]]]:
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    for task in tasks:
        if TASK in task:
            task[TASK].setdefault("stapy", f"{sys.executable} {FAKE}")
            task.setdefault("ignore_errors", True)
    plays = [{"hosts": "all", "gather_facts": False, "tasks": tasks, **keys}]
    inventory = {f"h{number}": {**local, "number": number} for number in range(hosts)}
    return play(folder, plays, inventory, *words)


def left(folder: Path) -> list[str]:
    """List what is still there of what was copied to the hosts, or shared by forks."""
    return [
        str(path)
        for path in (*(folder / "remote").rglob("*"), *(folder / "local").rglob("*"))
        if path.is_file()
    ]


# Options of the task, and what its result has.
ENDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"text": "print a; complain b"}, {"rc": 0, "stdout": "a\n", "stderr": "b\n"}),
    ({"text": "print a"}, {"changed": False, "how": "ok", "module": "stap_fake"}),
    ({"text": "print a", "command": "true"}, {"changed": True, "how": "ok"}),
    ({"text": "print a", "guru": True}, {"changed": True, "how": "ok"}),
    ({"text": "print a", "timeout": 1e9, "grace": 1e9}, {"how": "ok"}),
    ({"text": "bytes 61ff0a"}, {"stdout": "a\ufffd\n"}),
    ({"text": 'print {"n": 1}; print {"n": 2}', "format": "json"},
     {"records": [{"n": 1}, {"n": 2}]}),
    ({"text": "print nonsense", "format": "json"}, {"how": "failed", "rc": 0}),
    ({"text": "complain WARNING: w; complain ERROR: no room; exit 3"},
     {"how": "failed", "rc": 3, "msg": "ERROR: no room"}),
    ({"text": "exit 3"}, {"how": "failed", "msg": "stapy-run ended with status 3"}),
    ({"text": "print a; hang", "timeout": 0.5, "grace": 0.5},
     {"how": "failed", "rc": -15, "msg": "the session was ended: it did not end in 1 seconds"}),
    ({"text": "deaf; flood 1048577", "output_limit": 1, "grace": 1}, {"how": "failed", "rc": -9}),
    ({"text": "flood 1048577", "output_limit": 1}, {"how": "failed", "rc": -15}),
    ({"text": "wrong"}, {"how": "failed", "stderr": "WARNING: be careful\nsemantic error: it is "
      "wrong  [E0001]\n --> x\n"}),
    ({"text": "silent"}, {"how": "failed"}),
]  # fmt: skip


def test_how_sessions_end(tmp_path: Path) -> None:
    results = run(tmp_path, [{TASK: dict(given)} for given, _ in ENDS])["h0"]
    for (given, wanted), got in zip(ENDS, results, strict=True):
        assert {key: got.get(key) for key in wanted} == wanted, (given, got)
    by_text = {given["text"].split()[0]: got for (given, _), got in zip(ENDS, results, strict=True)}
    release = os.uname().release
    assert by_text["wrong"]["msg"] == (
        f"there is no module for {release}: semantic error: it is wrong  [E0001]"
    )
    assert "stapy did not name a module" in by_text["silent"]["msg"]
    assert by_text["flood"]["msg"].endswith("it wrote more than output_limit allows to stdout")
    assert len(by_text["flood"]["stdout"]) == 1 << 20
    assert by_text["bytes"]["release"] == release and by_text["bytes"]["arch"] == os.uname().machine
    assert left(tmp_path) == []


def test_words_of_stapy_and_stapy_run(tmp_path: Path, builds: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/s.stp").write_text("words")
    given = {
        "script": "s.stp",
        "arguments": ["-7", "two words"],
        "options": ["-DMAXERRORS=2"],
        "globals": {"most": 9, "name": "x y", "on": True},
        "command": "make all",
        "timeout": 2.5,
        "format": "json",
        "build_in": "auto",
        "dest": "out/h0.jsonl",
    }
    (result,) = run(tmp_path, [{TASK: given}])["h0"]
    (said,) = result["records"]
    assert said == [
        "-T", "2.5", "-c", "make all", "--format=json", "most=9", "name=x y", "on=1",
    ]  # fmt: skip
    (built,) = map(json.loads, builds.read_text().splitlines())
    assert built == [
        "-DMAXERRORS=2", "--build-in=auto", "--format=json", "-c", "make all",
        "-p4", "-r", os.uname().release, "--message-format=rich",
        "-G", "most=9", "-G", "name=x y", "-G", "on=1",
        str(tmp_path / "files/s.stp"), "--", "-7", "two words",
    ]  # fmt: skip
    assert (tmp_path / "out/h0.jsonl").read_text() == result["stdout"]


def test_one_build_for_all_hosts_and_forks(tmp_path: Path, builds: Path) -> None:
    """Values of globals differ and share a module; an error is told to all, and made once."""
    tasks = [
        {TASK: {"text": "words", "globals": {"n": "{{ number }}"}}},
        {TASK: {"text": "wrong"}},
        {TASK: {"text": "print {{ number }}"}},
    ]
    results = run(tmp_path, tasks, "-f", "4", hosts=4)
    for number in range(4):
        first, second, third = results[f"h{number}"]
        assert json.loads(first["stdout"])[-1] == f"n={number}"
        assert second["how"] == "failed" and "it is wrong" in second["msg"]
        assert third["stdout"] == f"{number}\n"
    texts = [json.loads(line)[-2] for line in builds.read_text().splitlines()]
    assert sorted(texts) == [*(f"print {number}" for number in range(4)), "words", "wrong"]


def test_each_program_builds_its_own(tmp_path: Path, builds: Path) -> None:
    """Hosts of one task may name another stapy, which makes another module."""
    stapy = f"env MORE={{{{ '; print ' ~ number }}}} {sys.executable} {FAKE}"
    stapy = stapy.replace("MORE={{", "'MORE={{").replace("}} ", "}}' ", 1)
    results = run(tmp_path, [{TASK: {"text": "print same", "stapy": stapy}}], hosts=2)
    for number in range(2):
        assert results[f"h{number}"][0]["stdout"] == f"same\n{number}\n"
    assert len(builds.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    "said", ["/tmp/tree\nx86_64", "-r\nx86_64", "6.1 /x\nx86_64", "6.1\n/x", "6.1"]
)
def test_a_host_that_names_no_kernel(
    tmp_path: Path, builds: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """What a host says goes into a command line of the controller."""
    program = tmp_path / "bin/uname"
    program.parent.mkdir()
    release, _, arch = said.partition("\n")
    program.write_text(f"#!/bin/sh\n[ \"$1\" = -r ] && echo '{release}' || echo '{arch}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (result,) = run(tmp_path, [{TASK: {"text": "print a"}}])["h0"]
    assert result["how"] == "failed"
    assert result["msg"] == "the host does not say which kernel it runs"
    assert not builds.exists()


def test_a_module_that_was_built(tmp_path: Path, builds: Path) -> None:
    module = tmp_path / "mine.ko"
    module.write_text('{"text": "print built"}')
    tasks = [
        {TASK: {"module": "mine.ko"}},
        {TASK: {"module": str(module), "remote_src": True}},
    ]
    for result in run(tmp_path, tasks)["h0"]:
        assert (result["stdout"], result["module"]) == ("built\n", "mine")
    assert module.exists()  # what lay on the host is not ours
    assert not builds.exists() and left(tmp_path) == []


def test_check_mode_builds_and_runs_nothing(tmp_path: Path, builds: Path) -> None:
    module = tmp_path / "mine.ko"
    module.write_text("{}")
    tasks = [
        {TASK: {"text": "print a", "command": "true"}},
        {TASK: {"text": "wrong"}},
        {TASK: {"module": "mine.ko"}},
    ]
    made, wrong, built = run(tmp_path, tasks, "--check")["h0"]
    assert made["msg"] == "stap_fake.ko is made, not run in check mode"
    assert made["changed"] and "rc" not in made
    assert wrong["how"] == "failed" and built["msg"] == "mine.ko is not loaded in check mode"
    assert len(builds.read_text().splitlines()) == 2


# Options that make no sense, and what is said of them.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "one of the following is required: script, text, module"),
    ({"text": "a", "script": "b"}, "mutually exclusive"),
    ({"text": "a", "remote_src": True}, "remote_src goes with module"),
    ({"module": "a.ko", "guru": True, "options": ["-w"]}, "options, guru: the module is built"),
    ({"text": "a", "timeout": 0}, "timeout must be above 0"),
    ({"text": "a", "timeout": "nan"}, "timeout must be above 0"),
    ({"text": "a", "grace": "inf"}, "grace must be above 0, and finite"),
    ({"text": "a", "output_limit": -1}, "output_limit must be above 0"),
    ({"text": "a", "globals": {"a b": 1}}, "'a b' is no name of a global"),
    ({"text": "a", "globals": {"a": [1]}}, "a is neither a number nor a text"),
    ({"text": "a", "globals": {"a": 1.5}}, "a is neither a number nor a text"),
    ({"text": "a", "format": "xml"}, "value of format must be one of"),
    ({"text": "a", "stapy": ""}, "stapy: no program is named"),
    ({"text": "a", "stapy": "'x"}, "stapy: No closing quotation"),
    ({"text": "a", "stapy": "/nowhere/stapy"}, "cannot start /nowhere/stapy on the controller"),
    ({"script": "gone.stp"}, "gone.stp"),
    ({"text": "a", "sript": "b"}, "Unsupported parameters"),
]


def test_refused(tmp_path: Path, builds: Path) -> None:
    results = run(tmp_path, [{TASK: dict(given)} for given, _ in REFUSED])["h0"]
    for (given, text), got in zip(REFUSED, results, strict=True):
        assert got["how"] == "failed" and text in got["msg"], (given, got)
        assert "Traceback" not in json.dumps(got), got
    assert not builds.exists()


def test_a_session_does_not_outlive_its_task(tmp_path: Path) -> None:
    (result,) = run(tmp_path, [{TASK: {"text": "print a"}, "async": 60, "poll": 0}])["h0"]
    assert result["how"] == "failed" and "async" in result["msg"]


def test_the_role_refuses_a_host_that_takes_no_modules(tmp_path: Path) -> None:
    """Here it is the tests' machine; where that takes modules, the role runs the script."""
    keys = {
        "roles": [{"role": "stapy.tracer.trace", "become": False}],
        "vars": {"trace_text": "print a", "trace_stapy": f"{sys.executable} {FAKE}",
                 "ansible_become": False, "trace_output": str(tmp_path / "out")},
    }  # fmt: skip
    results = run(tmp_path, [], **keys)["h0"]
    facts = next(one for one in results if "ansible_facts" in one)["ansible_facts"]["stapy"]
    if facts["can_load"]:
        assert results[-1]["stdout"] == "a\n"
        assert (tmp_path / "out/h0.txt").read_text() == "a\n"
    else:
        assert results[-1]["how"] == "failed"
        assert results[-1]["msg"] == "; ".join(one["text"] for one in facts["obstacles"])
