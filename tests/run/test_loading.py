"""Loading a module that somebody else takes away, or that a killed consumer left."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.run import kernel, loading, mark
from stapy.run.control import Channel
from stapy.run.errors import GoneError, RunError
from stapy.run.messages import MessagePrinter
from stapy.run.options import RunOptions

ROOT = Path(__file__).resolve().parents[2]


class World:
    """What is in the kernel, as far as loading a module asks for it."""

    name = "one"
    path = "one.ko"

    def __init__(self, monkeypatch):
        self.loaded = False
        self.state = "loaded"
        self.did = []
        self.trouble = []  # for each opening: what goes wrong, or None
        for place, name, what in (
            (mark, "is_loaded", lambda name, *_: self.loaded),
            (mark, "is_ours", lambda name, *_: self.loaded),
            (mark, "is_going", lambda name, *_: False),
            (mark, "state_of", lambda name, *_: self.state),
            (kernel, "insert", self.insert),
            (kernel, "remove", self.remove),
            (Channel, "open", self.open),
        ):
            monkeypatch.setattr(place, name, what)

    def insert(self, module, words, image=None, by_option=False):
        self.did.append("insert")
        self.loaded = True

    def remove(self, name, seconds=10.0):
        if self.loaded:
            self.did.append("remove")
        self.loaded = False

    def open(self, folder):
        self.did.append("open")
        trouble, vanishes = self.trouble.pop(0) if self.trouble else (None, False)
        self.loaded = self.loaded and not vanishes
        if trouble:
            raise trouble
        return self

    def detach(self):
        self.did.append("detach")

    def dismiss(self):
        self.did.append("dismiss")

    def close(self):
        self.did.append("close")


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def load(world):
    return loading.insert_and_open(world, [], MessagePrinter())


def test_once_more_when_it_was_taken_away(world):
    world.trouble = [(GoneError("gone"), True)]
    assert load(world) == ("one", world)
    assert world.did == ["insert", "open"] * 2


def test_not_for_ever(world):
    world.trouble = [(GoneError("gone"), True)] * 2
    with pytest.raises(GoneError):
        load(world)
    assert world.did == ["insert", "open"] * 2


@pytest.mark.parametrize("error", [GoneError("no /proc"), RunError("busy")])
def test_what_is_there_and_cannot_be_opened_is_removed(world, error):
    world.trouble = [(error, False)]
    with pytest.raises(RunError):
        load(world)
    assert world.did == ["insert", "open", "remove"]


def test_what_was_left_over_is_told_that_we_remove_it(world):
    world.loaded = True
    load(world)
    assert world.did == ["open", "dismiss", "close", "remove", "insert", "open"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("mosst=1", r"\(it has: most, text\); did you mean 'most'\?"),
        ("other=1", r"\(it has: most, text\); declare it with -G other=VALUE"),
    ],
)
def test_names_of_parameters(word, said):
    """Those of the script are told, not those that the runtime has for itself."""
    module = World.__new__(World)
    names = ("most", "text", "stapy_state", "stapy_hidden", "stapy_buffer_mb", "tz_name")
    module.parameters = dict.fromkeys(names, "")
    with pytest.raises(RunError, match=said):
        loading.parameters(module, RunOptions(parameters=[word]))


def test_the_start_imports_nothing_costly(tmp_path):
    """What `re` and enumerations cost is a third of a start in an emulated guest."""
    read = "from stapy.run.elf import _from_json as r; assert r('{\"a\": [1]}') == {'a': [1]}"
    told = f"import sys, stapy.run.cli; {read}; print(*sys.modules)"
    words = [sys.executable, "-sS", "-c", told]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not {"re", "enum", "signal", "json", "functools"} & set(done.stdout.split())


@pytest.mark.parametrize("answers", [[False], [True, False]])
def test_what_is_left_of_somebody_elses_session_stays(world, monkeypatch, answers):
    """It is asked before it is opened, and once more when it cannot become another one."""
    world.loaded, world.state = True, "stopped"
    monkeypatch.setattr(loading, "refuse_foreign", lambda name: None)
    monkeypatch.setattr(loading, "renamed", lambda module, name: b"image")
    monkeypatch.setattr(loading, "free_name", lambda name, number: f"{name}__7")
    asked = list(answers)
    name = loading.insert(world, [], MessagePrinter(), may_have=lambda name: asked.pop(0))
    assert (name, asked) == ("one__7", [])
    assert "remove" not in world.did
    assert world.did[-1] == "insert"


@pytest.mark.parametrize(
    ("must_rename", "told", "never"),
    [
        (True, "reason: -R gives one another name, under which its signature is worth", "running"),
        (False, "reason: a session of one is running, and under another name its", "-R"),
    ],
)
def test_why_a_signature_is_worth_nothing(tmp_path, monkeypatch, must_rename, told, never):
    """The new name is the option's, or that of a second session."""

    def refuse(fd, image, words):
        raise OSError(errno.EKEYREJECTED, os.strerror(errno.EKEYREJECTED))

    monkeypatch.setattr(kernel.doors, "load", refuse)
    monkeypatch.setattr(mark, "is_loaded", lambda name, *_: not must_rename and name == "one")
    monkeypatch.setattr(mark, "is_ours", lambda name, *_: True)
    monkeypatch.setattr(mark, "state_of", lambda name, *_: "running")
    monkeypatch.setattr(loading, "refuse_foreign", lambda name: None)
    monkeypatch.setattr(loading, "renamed", lambda module, name: b"image")
    module = World.__new__(World)
    module.signed, module.fd, module.parameters = True, -1, {}
    with pytest.raises(RunError) as failure:
        loading.insert(module, [], MessagePrinter(), must_rename)
    text = " ".join(map(str, [failure.value, *failure.value.args, *vars(failure.value).values()]))
    assert told in text
    assert never not in text
