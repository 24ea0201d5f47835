"""Members of stapusr, stapsys and stapdev run modules: through sudo, and as far as they may."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.vm.machine import Machine, VmResult
from tests.vm.harness import WATCHDOGS
from tests.vm.safety.support import make, shell

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.build,
    pytest.mark.vm,
    pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs the system's Python"),
]

# Who runs programs while the command of -c waits; and whose it is.
LIVES = """
global seen
probe process.begin { seen[uid()]++ }
probe begin { printf("mine %d\\n", uid()) }
probe end { foreach (user+ in seen) printf("saw %d\\n", user) }
"""
WAITS = 'probe begin { println("begun") } probe timer.s(600) { exit() }'
ANY = """
global hits
probe kernel.function("vfs_read") { if (hits++ == 0) exit() }
probe end { printf("all %d\\n", hits > 0) }
"""
# User 2001 is in no group, 2002 in stapusr, 2003 in stapsys too, 2004 in stapdev too; 2005 in
# stapdev without stapusr.
USERS = f"""
for user in 1 2 3 4 5; do echo "u$user:x:200$user:2000::/tmp:/bin/sh" >>/etc/passwd
    echo "u$user:*:19000:0:99999:7:::" >>/etc/shadow; done
echo 'folk:x:2000:
stapusr:x:2100:u2,u3,u4
stapsys:x:2101:u3
stapdev:x:2102:u4,u5' >>/etc/group
lib=/usr/local/lib/stapy_run
cp -r {ROOT}/stapy/run $lib; chown -R 0:0 $lib; chmod -R go-w $lib
trusted=/lib/modules/$(uname -r)/systemtap
mkdir -p $trusted; chmod 755 $trusted; cp $lives $waits $trusted
"""
KNOWN = """
program="/usr/bin/python3 -ISB /usr/local/lib/stapy_run"
trusted=/lib/modules/$(uname -r)/systemtap
chmod 755 .; mkdir his; chown 2002 his; mkdir devs; chown 2004 devs
for user in 2001 2002 2003; do
    eval "as$user='setpriv --reuid $user --regid 2000 --init-groups env MINE=yes'"
done
keeps() { grep -qx stapy-keeper /proc/[0-9]*/comm 2>/dev/null; }
"""
# What sudo does where its rule allows it; descriptor 3 has umask and environment.
DIRECT = r"""
printf '027\0PATH=/usr/bin:/bin\0MINE=yes' >environment
member() { user=$1; shift; SUDO_UID=$user $program --as-member "$@" 3<environment 4</dev/null; }
"""
SUDO = """
mkdir -p /etc/sudoers.d
$program --sudoers >/etc/sudoers.d/stapy || exit; chmod 440 /etc/sudoers.d/stapy
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    return make(
        release,
        folder,
        lives=("--privilege=stapusr", "-e", LIVES),
        waits=("--privilege=stapusr", "-e", WAITS),
        any=ANY,
    )


@pytest.fixture(scope="module")
def prepared(release: str, modules: dict[str, Path]) -> Iterator[Machine]:
    """Boot a machine of its own, with users, groups and trusted modules."""
    with Machine(release, command_line=WATCHDOGS) as machine:
        shell(machine, modules, USERS)
        yield machine


def told(result: VmResult) -> str:
    return result.stderr.decode("utf-8", "replace")


def test_who_may_load_what(prepared: Machine, modules: dict[str, Path]) -> None:
    """By the user's groups and the module's place, whatever the module may do."""
    text = """
    for user in 2001 2005 77777; do member $user $trusted/lives.ko; echo status $?; done
    cp $lives his/lives.ko; cp $any devs; chown 2002 his/*; chown 2004 devs/*
    member 2002 his/lives.ko; echo status $?; member 2003 devs/any.ko; echo status $?
    ln -s $trusted/lives.ko his/link.ko; member 2002 his/link.ko; echo status $?
    chmod 777 $trusted; member 2002 $trusted/lives.ko; echo status $?; chmod 755 $trusted
    chown 2002 $trusted/lives.ko; member 2002 lives; echo status $?; chown 0 $trusted/lives.ko
    member 2002 -b 4 $trusted/lives.ko; echo status $?
    member 2002 $trusted/lives.ko stapy_level=3; echo status $?
    member 2002 -T 1 lives -c 'id -u; echo $MINE $(umask)' -o his/out; echo status $?
    stat -c '%u %g %a' his/out; cat his/out; member 2002 -T 1 -o /etc/mine lives; echo status $?
    member 2004 devs/any.ko; echo status $?
    wait_for '! keeps'; folders
    """
    lines, result = shell(prepared, modules, KNOWN + DIRECT + text, 300)
    assert lines == [
        *["status 1"] * 10,
        *("2002", "yes 0027", "status 0", "2002 2000 640", "mine 2002", "saw 2002"),
        *("status 1", "all 1", "status 0", "0"),
    ], (lines, told(result))
    said = told(result).splitlines()
    folder = f"/lib/modules/{prepared.release}/systemtap"
    assert len(said) == 11, said
    for line, words in zip(
        said,
        (
            "as an ordinary user: 'u1' would have to be root, or a member of the group \"stapusr\"",
            "as an ordinary user: 'u5' would have to be root",  # in stapdev, but not in stapusr
            "sudo does not say who called it",
            f"members of the group stapusr may only use modules that root has put into {folder}",
            "members of the group stapsys may only use modules",
            "stapusr may only use modules that root has put into",
            f"modules in {folder} are not trusted: all users may write to it",
            f"{folder}/lives.ko is not trusted: it belongs to user 2002, not to root",
            "-b is for root and members of the group stapdev",
            "the script has no global 'stapy_level' that can be set",
            "Couldn't open output file '/etc/mine': Permission denied",
        ),
        strict=True,
    ):
        assert words in line, line


def test_only_his_own_processes(prepared: Machine, modules: dict[str, Path]) -> None:
    text = """
    { wait_for '[ -e his/go ]'; /bin/true; setpriv --reuid 2003 --clear-groups /bin/true
      touch his/done; } >&2 &
    member 2002 lives -c 'touch his/go; while [ ! -e his/done ]; do /bin/sleep 0.2; done'
    echo status $?
    """
    lines, result = shell(prepared, modules, KNOWN + DIRECT + text, 300)
    assert lines == ["mine 2002", "saw 2002", "status 0"], (lines, told(result))


def test_sessions_that_are_left_are_their_users(
    prepared: Machine, modules: dict[str, Path]
) -> None:
    """Attached to and removed by him, by stapdev and by root."""
    text = """
    member 2002 -L waits >/dev/null 2>&1; cat /sys/module/waits/parameters/stapy_user
    member 2003 -A waits; echo status $?; member 2003 -d waits; echo status $?
    member 2003 -d '*'; echo status $?; state waits
    member 2002 -T 1 -A waits; echo status $?; folders
    member 2002 -L waits >/dev/null 2>&1; member 2002 -d waits; echo status $?
    member 2002 -L waits >/dev/null 2>&1; member 2004 -d waits; echo status $?
    member 2002 -L waits >/dev/null 2>&1; $run -d waits; echo status $?; folders
    """
    lines, result = shell(prepared, modules, KNOWN + DIRECT + text, 300)
    assert lines == [
        *("2002", "status 1", "status 1", "status 0", "running", "status 0", "0"),
        *("status 0", "status 0", "status 0", "0"),
    ], (lines, told(result))
    assert told(result).splitlines() == ["ERROR: module 'waits' was not loaded by 'u3'"] * 2


def test_the_module_itself_refuses(prepared: Machine, modules: dict[str, Path]) -> None:
    """Below its level it does not start; for another user's command neither.

    Nor does it take files of a program that is root's by its mode, which the user has started.
    """
    text = """
    insmod $any stapy_user=2002 stapy_level=2 2>/dev/null; echo loaded $?
    insmod $waits stapy_user=2002 stapy_level=0 2>/dev/null; echo loaded $?
    insmod $any stapy_user=2002 stapy_level=3; echo loaded $?; rmmod any
    insmod $waits stapy_user=2002 stapy_level=3 stapy_member_level=1
    exec 3<>/proc/stapy_waits/control
    $as2002 sh -c 'echo "file 0 /bin/true" >&3' 2>/dev/null; echo said $?
    cp /usr/bin/printf roots; chmod 4755 roots; hand='roots "file 0 /bin/true\\n" >&3 </bin/true'
    # A module that names no program has no use for one.
    { $as2002 sh -c "./$hand"; eval "./$hand"; } 2>&1 | sed 's/.*: //'
    $as2002 sh -c 'echo "start 0 1" >&3' 2>/dev/null; echo said $?
    $as2003 sh -c 'echo "start 0" >&3' 2>/dev/null; echo said $?; state waits
    $as2002 sh -c 'echo "start 0" >&3' & wait_for '[ $(state waits) = running ]'
    stop_by_hand; exec 3>&-; rmmod waits; folders
    """
    lines, result = shell(prepared, modules, KNOWN + text, 300)
    assert lines == [
        *("loaded 1", "loaded 1", "loaded 0", "said 1"),
        *("Operation not permitted", "Invalid argument", "said 1", "said 1", "loaded", "0"),
    ], (lines, told(result))


@pytest.mark.skipif(not shutil.which("sudo"), reason="needs sudo")
def test_the_whole_way_through_sudo(prepared: Machine, modules: dict[str, Path]) -> None:
    """By the rule that stapy-run prints; what is killed leaves nothing."""
    text = """
    $as2001 $program lives; echo status $?
    $as2002 $program -T 1 lives -c 'id -u; echo $MINE'; echo status $?
    $as2002 $program waits >out & wait_for 'grep -q begun out' $!
    cat /proc/$!/comm; stat -c %u /proc/$!/fd; $as2002 ls /proc/$!/fd >/dev/null 2>&1 || echo closed
    $as2002 kill -9 $!; wait $!; echo status $?
    wait_for '[ $(loaded waits) = 0 ]'; folders
    $as2002 $program waits >out & wait_for 'grep -q begun out' $!
    $as2002 kill $!; wait $!; echo status $?; folders
    rm /etc/sudoers.d/stapy; $as2002 $program lives; echo status $?
    """
    lines, result = shell(prepared, modules, KNOWN + SUDO + text, 400)
    # The command and the script write to the same place when they like.
    assert (lines[0], sorted(lines[1:5]), lines[5:]) == (
        "status 1",
        ["2002", "mine 2002", "saw 2002", "yes"],
        ["status 0", "stapy-run", "0", "closed", "status 137", "0", "status 0", "0", "status 1"],
    ), (lines, told(result))
    said = [line for line in told(result).splitlines() if line.startswith("ERROR")]
    assert "'u1' would have to be root" in said[0], said
    assert "sudo lacks the rule by which members of stapusr run modules" in said[-1], said
