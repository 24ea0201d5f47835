"""Members of the groups: who they are, what they may load, what stays root for them."""

from __future__ import annotations

import grp
import os
import pwd
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from stapy.run import admission, groups, kernel, loading, mark, member, sudo
from stapy.run.control import Channel
from stapy.run.elf import ModuleFile
from stapy.run.errors import GoneError, RunError
from stapy.run.groups import STAPDEV, STAPSYS, STAPUSR, GroupMember
from stapy.run.hands import Hands, Turn
from stapy.run.keeper import SESSIONS, Keeper, MembersHands
from stapy.run.member import KeptHands
from stapy.run.messages import MessagePrinter
from stapy.run.wire import MOST, Wire
from tests.run.test_parts import make_module

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can own what is trusted")
NUMBERS = {"stapusr": 21, "stapsys": 22, "stapdev": 23}


def user(level: int, uid: int = 2002) -> GroupMember:
    return GroupMember(uid, 2000, "one", [2000], level)


@pytest.mark.parametrize(
    ("there", "level"),
    [
        ("", 0),
        ("stapusr", STAPUSR),
        ("stapusr stapsys", STAPSYS),
        ("stapusr stapsys stapdev", STAPDEV),
        ("stapusr stapdev", STAPDEV),
        ("stapdev", 0),  # stapusr is needed for all, as for staprun
        ("stapsys", 0),
    ],
)
def test_levels(monkeypatch: pytest.MonkeyPatch, there: str, level: int) -> None:
    entry = SimpleNamespace(pw_name="one", pw_gid=2000)
    ids = [2000, *(NUMBERS[name] for name in there.split())]
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: entry)
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: ids)
    monkeypatch.setattr(grp, "getgrnam", lambda name: SimpleNamespace(gr_gid=NUMBERS[name]))
    found = groups.look_up(2002)
    assert found
    assert (found.level, found.groups, found.gid) == (level, ids, 2000)
    assert ('member of the group "stapusr"' in found.refusal()) == (not level)


def test_groups_that_the_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_group(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(grp, "getgrnam", no_group)
    found = groups.look_up(0)
    assert found
    assert found.level == 0
    assert groups.look_up(4242424242) is None
    assert groups.look_up(1 << 70) is None


@pytest.mark.parametrize("told", ["", "x", "-1", "4242424242", "2002 0", "٣"])
def test_sudo_has_to_say_who_called_it(told: str) -> None:
    with pytest.raises(RunError, match="sudo does not say who called it"):
        member._caller(told)


def test_root_by_sudo_is_root() -> None:
    assert member._caller("0") is None


# --- modules --------------------------------------------------------------


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    folder = tmp_path / "systemtap"
    folder.mkdir(mode=0o755)
    make_module(folder / "m.ko").chmod(0o644)
    return folder


def admitted(level: int, path: Path, folder: Path) -> admission.Admitted:
    fd = os.open(path, os.O_RDONLY)
    try:
        return admission.admit(user(level), str(path), fd, str(folder))
    finally:
        os.close(fd)


@as_root
@pytest.mark.parametrize("level", [STAPUSR, STAPSYS])
def test_what_root_has_laid_down(trusted: Path, tmp_path: Path, level: int) -> None:
    """The file itself, by whatever way; what is loaded is what was looked at in the folder."""
    (tmp_path / "way").symlink_to(trusted)
    for path in (trusted / "m.ko", tmp_path / "way" / "m.ko"):
        found = admitted(level, path, trusted)
        assert (found.module.path, found.level) == (f"{trusted}/m.ko", STAPDEV)
    copy = make_module(tmp_path / "m.ko")
    with pytest.raises(RunError, match=f"members of the group {groups.NAMES[level]} may only use"):
        admitted(level, copy, trusted)
    assert admitted(STAPDEV, copy, trusted).module.path == str(copy)


@as_root
@pytest.mark.parametrize(
    ("place", "mode", "owner", "why"),
    [
        ("", 0o777, (0, 0), "modules in .* are not trusted: all users may write to it"),
        ("", 0o775, (0, 7), "modules in .* group 7 may write to it"),
        ("", 0o775, (0, 0), "modules in .* group 0 may write to it"),
        ("", 0o755, (7, 0), "modules in .* belongs to user 7, not to root"),
        ("m.ko", 0o646, (0, 0), "m.ko is not trusted: all users may write"),
        ("m.ko", 0o664, (0, 7), "m.ko is not trusted: group 7"),
        ("m.ko", 0o644, (7, 0), "m.ko is not trusted: it belongs to user 7"),
    ],
)
def test_what_others_may_change_is_not_trusted(
    trusted: Path, place: str, mode: int, owner: tuple[int, int], why: str
) -> None:
    (trusted / place).chmod(mode)
    os.chown(trusted / place, *owner)
    with pytest.raises(RunError, match=why):
        admitted(STAPUSR, trusted / "m.ko", trusted)


@as_root
def test_a_link_or_a_pipe_in_the_folder_is_no_module(trusted: Path, tmp_path: Path) -> None:
    outside = make_module(tmp_path / "other.ko")
    (trusted / "other.ko").symlink_to(outside)
    os.mkfifo(trusted / "pipe.ko")
    make_module(tmp_path / "pipe.ko")
    for name in ("other.ko", "pipe.ko"):
        with pytest.raises(RunError, match="may only use modules that root has put into"):
            admitted(STAPUSR, tmp_path / name, trusted)


@pytest.mark.parametrize(
    ("level", "word", "why"),
    [
        (STAPUSR, "most=3", ""),
        (STAPUSR, "tz_name=CET", ""),
        (STAPUSR, "stapy_columns=80", ""),  # what his terminal is
        (STAPUSR, "stapy_colors=1", ""),
        (STAPSYS, "stapy_buffer_mb=4", "-b is for root and members of the group stapdev"),
        (STAPDEV, "stapy_buffer_mb=4", ""),
        (STAPUSR, "stapy_level=3", "'stapy_level' is no global"),
        (STAPUSR, "stapy_member_level=3", "'stapy_member_level' is no global"),
        (STAPDEV, "stapy_user=0", "'stapy_user' is no global"),
        (STAPDEV, "stapy_hidden=1", "'stapy_hidden' is no global"),
        (STAPUSR, "stapy-level=3", "'stapy-level' is no global"),  # the kernel would take it
        (STAPUSR, "stapy_hidden", "'stapy_hidden' is no global"),
    ],
)
def test_parameters(level: int, word: str, why: str) -> None:
    known = (
        "most",
        "tz_name",
        "stapy_columns",
        "stapy_colors",
        "stapy_buffer_mb",
        "stapy_level",
        "stapy_user",
        "stapy_hidden",
        "stapy_member_level",
    )
    if not why:
        admission.check_parameters(user(level), [word], known)
        return
    with pytest.raises(RunError, match=why):
        admission.check_parameters(user(level), [word], known)


def test_a_module_that_knows_no_levels_is_refused(tmp_path: Path) -> None:
    old = admission.Admitted(ModuleFile(str(make_module(tmp_path / "m.ko"))), STAPDEV)
    with pytest.raises(RunError, match="knows no levels of privilege: make it again"):
        admission.limits(user(STAPDEV), old)
    old.module.parameters["stapy_user"] = "uint"
    with pytest.raises(RunError, match="make it again"):  # it would take name spaces from anybody
        admission.limits(user(STAPDEV), old)
    old.module.parameters["stapy_member_level"] = "int"
    told = ["stapy_user=2002", "stapy_level=3", "stapy_member_level=1"]
    assert admission.limits(user(STAPUSR), old) == told


def test_nobody_sets_what_the_keeper_tells(tmp_path: Path) -> None:
    from stapy.run.options import RunOptions

    module = ModuleFile(str(make_module(tmp_path / "m.ko")))
    names = ("stapy_user", "stapy_level", "stapy_member_level")
    module.parameters |= dict.fromkeys(names, "int")
    for word in (f"{name}=3" for name in names):
        with pytest.raises(RunError, match="has no global"):
            loading.parameters(module, RunOptions(parameters=[word]))


@pytest.mark.parametrize(
    ("text", "uid"), [("2002\n", 2002), ("4294967295\n", -1), ("x", -1), (None, -1)]
)
def test_whose_session_it_is(tmp_path: Path, text: str | None, uid: int) -> None:
    (tmp_path / "one/parameters").mkdir(parents=True)
    if text is not None:
        (tmp_path / "one/parameters/stapy_user").write_text(text)
    assert mark.user_of("one", str(tmp_path)) == uid
    assert mark.user_of("../one", str(tmp_path)) == -1


# --- what goes between the two --------------------------------------------


def test_any_number_of_files_goes_through() -> None:
    one, other = Wire.pair()
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(MOST * 2 + 1)]
    one.send(["ä\udcff", "", "x" * 1000], fds)
    one.send(["next"])
    told = other.receive()
    assert told
    assert told[0] == ["ä\udcff", "", "x" * 1000]
    assert len(told[1]) == len(fds)
    assert not any(os.get_inheritable(fd) for fd in told[1])
    assert other.receive() == (["next"], [])
    one.close()
    assert other.receive() is None
    for fd in (*fds, *told[1]):
        os.close(fd)


class FakeHands(Hands):
    """Does nothing to the kernel; notes what was asked."""

    def __init__(self, real: Hands) -> None:
        self.did: list[str] = []
        self.may_have = real.may_have  # type: ignore[method-assign]
        self.refusal = real.refusal  # type: ignore[method-assign]

    def insert(self, module, words, messages, must_rename):  # type: ignore[no-untyped-def]
        self.did.append(f"insert {words}")
        messages.note("inserted")
        control, output = os.open("/dev/null", os.O_RDWR), os.open("/dev/zero", os.O_RDONLY)
        return "m", Channel(control, [output])

    def hand_over(self, channel, manifest, namespaces):  # type: ignore[no-untyped-def]
        self.did.append(f"files {namespaces}")

    def attach(self, name):  # type: ignore[no-untyped-def]
        if not self.may_have(name):
            raise RunError(self.refusal(name))
        raise GoneError(f"'{name}' is gone")

    def end(self, name, channel, is_left):  # type: ignore[no-untyped-def]
        self.did.append(f"end {name} {is_left}")
        channel.close()


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Start a keeper in a thread; gives (ask, module, hands of the keeper, its end)."""
    monkeypatch.setattr(kernel, "check", lambda module: None)
    monkeypatch.setattr(loading, "refuse_foreign", lambda name: None)
    monkeypatch.setattr(loading, "ours", lambda name: name)
    monkeypatch.setattr(kernel, "our_modules", lambda: ["his", "mine"])
    monkeypatch.setattr(mark, "user_of", lambda name: 2002 if name == "mine" else 7)
    made = make_module(tmp_path / "m.ko", manifest={}, rows=("parmtype=most:long",))
    module = ModuleFile(str(made))
    monkeypatch.setattr("stapy.run.fit.other_protocol", lambda module: "")
    monkeypatch.setattr(ModuleFile, "is_named", lambda self: True)
    monkeypatch.setattr(admission, "limits", lambda member, admitted: ["stapy_user=2002"])

    def start(level: int):  # type: ignore[no-untyped-def]
        ours, theirs = Wire.pair()
        keeper = Keeper(user(level), theirs)
        keeper._hands = FakeHands(keeper._hands)
        thread = threading.Thread(target=keeper.serve, daemon=True)
        thread.start()

        def end() -> None:
            ours.close()
            thread.join(30)

        return KeptHands(ours), module, keeper._hands, end

    return start


def test_a_killed_consumer_leaves_nothing(kept, capfd) -> None:  # type: ignore[no-untyped-def]
    hands, module, behind, end = kept(STAPDEV)
    hands.check(module)
    name, channel = hands.insert(module, ["most=1"], MessagePrinter(verbose=1), False)
    assert (name, channel.name, len(channel.outputs), channel.cpus) == ("m", "m", 1, [])
    assert os.read(channel.outputs[0], 1) == b"\0"
    hands.hand_over(channel, {"files": {"/bin/sh": {}}}, 3)
    channel.close()
    end()
    assert behind.did == ["insert ['most=1', 'stapy_user=2002']", "files 3", "end m False"]
    # A keeper that is a process of its own has no stream to print it to.
    assert set(capfd.readouterr().err.splitlines()) == {"stapy-run: inserted"}


def test_a_session_that_is_left_stays(kept) -> None:  # type: ignore[no-untyped-def]
    hands, module, behind, end = kept(STAPDEV)
    name, channel = hands.insert(module, [], MessagePrinter(), False)
    hands.end(name, channel, True)
    with pytest.raises(RunError, match="'m' was not loaded here"):
        hands.end(name, channel, False)
    end()
    assert behind.did[1:] == ["end m True"]


def test_sessions_of_others(kept, capfd) -> None:  # type: ignore[no-untyped-def]
    hands, _, behind, end = kept(STAPUSR)
    with pytest.raises(RunError, match="module 'his' was not loaded by 'one'"):
        hands.attach("his")
    assert hands.delete("his", MessagePrinter()) == 1
    with pytest.raises(GoneError, match="'mine' is gone"):
        hands.attach("mine")
    assert hands.delete("*", MessagePrinter()) == 1
    end()
    assert behind.did == []
    assert set(capfd.readouterr().err.splitlines()) == {
        "ERROR: module 'his' was not loaded by 'one'",
        "ERROR: 'mine' is gone",
    }
    with pytest.raises(RunError, match="stapy-run's keeper"):
        hands.attach("mine")


@pytest.mark.parametrize("error", [AttributeError("x"), MemoryError(), KeyError("m"), OSError(5)])
def test_a_keeper_outlives_what_a_module_does_to_it(  # type: ignore[no-untyped-def]
    kept, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the other sessions of its consumer would end."""
    hands, module, behind, end = kept(STAPDEV)

    def fail(module: ModuleFile) -> None:
        raise error

    monkeypatch.setattr(kernel, "check", fail)
    with pytest.raises(RunError, match=f"keeper: {type(error).__name__}"):
        hands.check(module)
    monkeypatch.setattr(kernel, "check", lambda module: None)
    hands.check(module)
    end()
    assert behind.did == []


def test_what_only_the_highest_level_may(kept, tmp_path) -> None:  # type: ignore[no-untyped-def]
    hands, module, behind, end = kept(STAPSYS)
    with pytest.raises(RunError, match="members of the group stapsys may only use modules"):
        hands.insert(module, [], MessagePrinter(), False)
    with pytest.raises(RunError, match="-N is for root and members of the group stapdev"):
        hands.hand_over(SimpleNamespace(name="m"), {}, 7)
    with pytest.raises(RunError, match="does not know 'become'"):
        hands._ask(["become", "root"])
    end()
    assert behind.did == []


@pytest.mark.parametrize(
    ("level", "there", "more"),
    [
        (STAPUSR, SESSIONS - 1, True),
        (STAPUSR, SESSIONS, False),
        (STAPSYS, SESSIONS + 1, False),
        (STAPDEV, SESSIONS, True),  # as much as root
    ],
)
def test_a_user_has_so_many_sessions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, level: int, there: int, more: bool
) -> None:
    """They are counted in our turn, or two keepers would both find room for the last one."""
    turns: list[str] = []
    monkeypatch.setattr(Turn, "__enter__", lambda self: turns.append("begin"))
    monkeypatch.setattr(Turn, "__exit__", lambda self, *error: turns.append("end"))
    mine = [f"m{number}" for number in range(there)]
    monkeypatch.setattr(kernel, "our_modules", lambda: turns.append("count") or ["his", *mine])
    monkeypatch.setattr(mark, "user_of", lambda name: 2002 if name in mine else 7)
    monkeypatch.setattr(loading, "insert_and_open", lambda *words: turns.append("load"))
    module = ModuleFile(str(make_module(tmp_path / "m.ko")))
    taken = MembersHands(user(level))
    if more:
        taken.insert(module, [], MessagePrinter(), False)
    else:
        with pytest.raises(RunError, match=f"'one' has {there} sessions, .* may have {SESSIONS} a"):
            taken.insert(module, [], MessagePrinter(), False)
    counted = [] if level == STAPDEV else ["count"]
    assert turns == ["begin", *counted, *(["load"] if more else []), "end"]


# --- sudo -----------------------------------------------------------------


def test_sudo_is_missing_or_lacks_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sudo, "program", lambda name: [])
    with pytest.raises(RunError, match="through sudo, which is missing: stapy-run --sudoers"):
        sudo.become(["m.ko"])
    asked: list[list[str]] = []
    monkeypatch.setattr(sudo, "program", lambda name: ["/usr/bin/sudo"])
    monkeypatch.setattr(sudo, "run", lambda words: (asked.append(words), (256, ""))[1])
    with pytest.raises(RunError, match="sudo lacks the rule"):
        sudo.become(["m.ko", "a b"])
    assert asked[0][:4] == ["/usr/bin/sudo", "-n", "-l", "--"]
    assert asked[0][-3:] == ["--as-member", "m.ko", "a b"]


# What others than root can write to, and what is said of it; the last is where a link leads to.
CHANGEABLE = [
    ("run/cli.py", 0o646, (0, 0), "all users may write"),
    ("run/cli.py", 0o664, (0, 0), "group 0 may write"),
    ("run/cli.py", 0o664, (0, 7), "group 7 may write"),
    ("run", 0o1777, (0, 0), "all users may write"),
    ("run/cli.py", 0o644, (7, 0), "it belongs to user 7"),
    ("far/in/m.py", 0o664, (0, 0), "group 0 may write"),
    ("far", 0o775, (0, 0), "group 0 may write"),
    ("far", 0o1777, (0, 0), "all users may write"),
]


@as_root
def test_only_above_our_code_a_folder_may_be_sticky(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    sudo._check(str(tmp_path), True)
    with pytest.raises(RunError, match="all users may write"):
        sudo._check(str(tmp_path), False)
    os.chown(tmp_path, 7, 0)
    with pytest.raises(RunError, match="it belongs to user 7"):
        sudo._check(str(tmp_path), True)


@as_root
def test_no_rule_for_what_others_can_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    (folder / "cli.py").write_text("")
    (folder / "cli.py").chmod(0o644)
    own = [one for one in (tmp_path, *tmp_path.parents) if one != Path("/")]
    before = sudo._files
    # What is above belongs to the tests' machine.
    monkeypatch.setattr(
        sudo, "_files", lambda *words: (one for one in before(*words) if Path(one) not in own)
    )
    words = ["/usr/bin/env", "-ISB", str(folder), "--as-member"]
    monkeypatch.setattr(sudo, "command", lambda: words)
    monkeypatch.setattr(sudo, "_library", lambda python: [])
    text = sudo.rule()
    assert f"Cmnd_Alias STAPY_RUN = {' '.join(words)} *" in text
    assert "%stapusr ALL = (root) NOPASSWD: STAPY_RUN" in text
    (folder / "cli.py").chmod(0o600)
    with pytest.raises(RunError, match=r"could not run it: '.*cli.py' is closed to them"):
        sudo.rule()
    far = tmp_path / "far"
    (far / "in").mkdir(parents=True)
    (far / "in/m.py").write_text("")
    for place, mode, owner, why in CHANGEABLE:
        path = tmp_path / place
        path.chmod(mode)
        os.chown(path, *owner)
        with pytest.raises(RunError, match=f"become root: '({path}|.*/cli.py)': {why}"):
            sudo.rule()
        os.chown(path, 0, 0)
        path.chmod(0o755)
        if owner == (7, 0):
            path.unlink()
            path.symlink_to("../far/in/m.py")
    (folder / "more").symlink_to(far)
    with pytest.raises(RunError, match="run/more' is a link to a folder"):
        sudo.rule()
    (folder / "more").unlink()
    (folder / "gone.py").symlink_to("nowhere")
    with pytest.raises(RunError, match=r"gone.py' cannot be looked at: No such file"):
        sudo.rule()
    words[2] = f"{tmp_path}/a,b"
    with pytest.raises(RunError, match="cannot stand in a rule"):
        sudo.rule()


@as_root
@pytest.mark.parametrize(
    ("place", "mode", "owner", "why"),
    [
        ("", 0o755, (0, 0), ""),
        ("lib", 0o775, (0, 7), "group 7 may write"),
        ("lib", 0o1777, (0, 0), "all users may write"),  # modules could come
        ("lib/json.py", 0o644, (7, 0), "it belongs to user 7"),
        ("lib/__pycache__", 0o777, (0, 0), "all users may write"),
        ("lib/__pycache__/os.cpython-311.pyc", 0o664, (0, 7), "group 7 may write"),
        ("lib/lib-dynload/_json.so", 0o646, (0, 0), "all users may write"),
        ("far/m.py", 0o664, (0, 7), "group 7 may write"),
        ("zip", 0o777, (0, 0), "all users may write"),  # lib.zip, which is not there
        ("libpython.so.1.0", 0o664, (0, 7), "group 7 may write"),
        ("lib/LICENSE.txt", 0o666, (0, 0), ""),  # no module
        ("lib/site-packages", 0o777, (0, 0), ""),  # -S leaves them out
        ("lib/site-packages/x.py", 0o666, (7, 7), ""),
    ],
)
def test_no_rule_where_others_can_change_the_library_of_python(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    place: str,
    mode: int,
    owner: tuple[int, int],
    why: str,
) -> None:
    for name in (
        "run/cli.py",
        "lib/json.py",
        "lib/__pycache__/os.cpython-311.pyc",
        "lib/lib-dynload/_json.so",
        "lib/LICENSE.txt",
        "lib/site-packages/x.py",
        "far/m.py",
        "zip/x",
        "libpython.so.1.0",
    ):
        (tmp_path / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o644)
    (tmp_path / "lib/linked").symlink_to("../far")
    (tmp_path / "far/again").symlink_to("../lib")
    words = ["/usr/bin/env", "-ISB", f"{tmp_path}/run", "--as-member"]
    library = [f"{tmp_path}/{name}" for name in ("zip/lib.zip", "lib", "libpython.so.1.0")]
    own = [one for one in (tmp_path, *tmp_path.parents) if one != Path("/")]
    before = sudo._files
    monkeypatch.setattr(
        sudo, "_files", lambda *words: (one for one in before(*words) if Path(one) not in own)
    )
    monkeypatch.setattr(sudo, "command", lambda: words)
    monkeypatch.setattr(sudo, "_library", lambda python: library)
    if place:
        (tmp_path / place).chmod(mode)
        os.chown(tmp_path / place, *owner)
    if not why:
        assert sudo.rule()
        return
    with pytest.raises(RunError, match=f"become root: '[^']*{place}': {why}"):
        sudo.rule()


def test_an_interpreter_says_where_its_library_is() -> None:
    found = sudo._library(sys.executable)
    assert str(Path(os.__file__).parent) in found
    assert os.path.realpath(sys.executable) in found  # what is mapped to run
    assert not any(path.endswith("site-packages") for path in found)
    for other in ("/bin/false", "/bin/nowhere"):
        with pytest.raises(RunError, match=other):
            sudo._library(other)


def test_what_sudo_starts_is_us_or_the_archive(tmp_path: Path) -> None:
    (tmp_path / "stapy-run.pyz").write_text("")
    assert sudo._place(f"{tmp_path}/stapy-run.pyz/stapy_run/sudo.py") == f"{tmp_path}/stapy-run.pyz"
    assert sudo._place(f"{tmp_path}/sudo.py") == str(tmp_path)
    assert sudo.command()[1:3] == ["-ISB", str(Path(sudo.__file__).parent)]


def test_the_users_environment_comes_back() -> None:
    """In a child: umask, values of any bytes, nothing of what was there before."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.environ.clear()
            os.environb.update({b"ODD": b"\xff=\n", b"EMPTY": b"", b"TERM": b"x"})
            os.umask(0o027)
            sudo._leave_environment()
            os.environ.clear()
            os.environ["SUDO_UID"] = "7"
            os.umask(0o077)
            member._restore_environment()
            same = member.target.environment == {b"ODD": b"\xff=\n", b"EMPTY": b"", b"TERM": b"x"}
            same = same and dict(os.environb) == {b"TERM": b"x"}
            member.target._take_environment()
            same = same and dict(os.environb) == member.target.environment
            status = 0 if same and os.umask(0) == 0o027 else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def apart(monkeypatch: pytest.MonkeyPatch, code: str) -> int:
    """Run Python in place of what sudo starts."""
    command = [sys.executable, "-ISc", code]
    monkeypatch.setattr(sudo, "become", lambda words, life: os.execv(command[0], command))
    monkeypatch.setattr(sudo, "LOOK", 0.05)
    return sudo.run_apart(["m.ko"])


def test_a_session_of_stapy_runs_apart(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its status is ours, a signal of somebody goes on to it, the mask is as it was."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert apart(monkeypatch, "import os; print(os.getpid()); raise SystemExit(7)") == 7
    tell = f"import os, signal, time; os.kill({os.getpid()}, signal.SIGUSR2); time.sleep(60)"
    assert apart(monkeypatch, tell) == 128 + signal.SIGUSR2
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert capfd.readouterr().out.strip().isdigit()


def test_a_session_that_sudo_refuses(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sudo, "program", lambda name: [])
    assert sudo.run_apart(["--message-format=json", "m.ko"]) == 1
    assert "through sudo, which is missing" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("level", "why"), [(0, ""), (STAPUSR, "group stapusr may only use"), (STAPDEV, "")]
)
def test_what_is_told_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch, level: int, why: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 2002)
    monkeypatch.setattr(sudo.refusals, "may_load", lambda: False)
    monkeypatch.setattr(sudo, "look_up", lambda uid: user(level))
    assert sudo.is_needed() == bool(level)
    assert why in sudo.obstacle()
    assert bool(sudo.obstacle()) == bool(why)


def test_a_killed_stapy_ends_its_session() -> None:
    """The pipe that it had open ends; what no pipe is left for is not ended."""
    held = os.open("/dev/null", os.O_RDONLY)
    for is_killed in (True, False):
        told, life = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(life)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.dup2(told if is_killed else held, member.LIFE)
                member._watch_life()
                time.sleep(60 if is_killed else 0.3)
            finally:
                os._exit(7)
        os.close(told)
        os.close(life)
        status = os.waitpid(pid, 0)[1]
        assert status == (signal.SIGTERM if is_killed else 7 << 8)
    os.close(held)
