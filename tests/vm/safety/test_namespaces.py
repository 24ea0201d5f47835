"""Programs that exist in a container only: its own mounts, numbers, users and names of hosts.

The container's root is made of Debian's packages, with an overlay on top.  Modules are made on
this machine, for a process that has the same files as its root, and run for one in the guest.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests import debugpackage
from tests.debuginfo.user.sources import built, compiled
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

LIBRARY = r"""
#include <unistd.h>
__attribute__((noipa)) int helper(int n) { usleep(2000); return n * 2; }
"""
# "stay" never returns: its return is pending whatever comes.
PROGRAM = r"""
#include <unistd.h>
int helper(int n);
__attribute__((noipa)) int work(int n) { return helper(n) + 1; }
__attribute__((noipa)) int stay(int n) { for (;;) work(n++); return n; }
int main(int count, char **words) { for (int n = 0; n < 3; n++) work(n); return stay(3); }
"""
# It goes on as user 77 of a user namespace of its own.
CONTAINER = r"""
mount --make-rprivate / && mount -t tmpfs none $box && cd $box && mkdir upper work root || exit 1
mount -t overlay -o lowerdir=$lower,upperdir=upper,workdir=work none root && cd root || exit 1
mkdir -p old proc srv opt && mount -t tmpfs none srv && cd srv || exit 1
cp $files/tool $files/libonly.so . && cd .. || exit 1
ln -s /srv/tool opt/tool
cat >init <<'INIT'
umount -l /old; mount -t proc proc /proc
exec unshare -U --map-user=77 /opt/tool
INIT
pivot_root . old && exec /usr/bin/unshare -p -u -f --mount-proc=/proc --kill-child /bin/dash /init
"""
BEGIN = r"""
box=$(mktemp -d); export box lower={lower} files={files}
cat >container.sh <<'CONTAINER'
{container}
CONTAINER
begin() {{ # a container; inner is the number of its first process
    unshare -m sh container.sh >&2 & outer=$!
    inner=; wait_for 'inner=$(cat /proc/$outer/task/$outer/children) &&
        inner=${{inner% }} && [ "$(readlink /proc/$inner/exe)" = /srv/tool ]' >&2
}}
gone() {{ wait_for '! [ -d /proc/$inner ]' >&2; wait $outer 2>/dev/null; }}
"""
HITS = """
global works, helped, told
probe process("/opt/tool").function("work") { works++ }
probe process("tool").library("libonly.so").function("helper") {
    if (!told++) {
        printf("%d %d %d %s\\n", ns_pid(), ns_uid(), uid(), execname())
        printf("%s < %s < %s\\n", usymname(ustack(0)), usymname(ustack(1)), usymname(ustack(2)))
        println(umodname(ustack(1)))
    }
}
probe process("/opt/tool").library("/srv/libonly.so").function("helper").return {
    helped += returnval() == @entry(int_arg(1)) * 2
    if (helped >= 20 && works >= 20 && printed >= 20) exit() # armed one after the other
}
probe process("/srv/t*").function("work") { printed++ } global printed
probe end { printf("%d %d\\n", works >= 20, printed >= 20) println(pn()) }
"""
PENDING = """
global hits
probe process("/opt/tool").function("*").return { hits++ }
probe process("/opt/tool").function("main").return { println("main") }
probe process("/opt/tool").library("libonly.so").function("helper").return { hits++ }
probe process("/opt/tool").end { printf("gone %s %d\\n", execname(), ns_pid()) }
probe end { println(hits ? "hits" : "none") }
"""


@pytest.fixture(scope="module")
def lower() -> Path:
    try:
        return debugpackage.container_root()
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the program and its library, which no other place has."""
    folder = tmp_path_factory.mktemp("only")
    compiled(
        folder, LIBRARY, "-O1", "-shared", "-fPIC", "-Wl,-soname,libonly.so", name="libonly.so"
    )
    library = str(folder / "libonly.so")
    compiled(folder, PROGRAM, "-O1", library, "-Wl,-rpath,$ORIGIN", name="tool")
    return folder


@pytest.fixture(scope="module")
def inside(
    lower: Path, files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process on this machine whose root has the container's files."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(lower, root, symlinks=True, dirs_exist_ok=True)
    (root / "srv").mkdir(exist_ok=True)
    (root / "opt").mkdir(exist_ok=True)
    for name in ("tool", "libonly.so"):
        shutil.copy(files / name, root / "srv")
    (root / "opt/tool").symlink_to("/srv/tool")
    with subprocess.Popen(["chroot", str(root), "/bin/sleep", "100000"]) as process:
        try:
            while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":  # chroot's exec
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def modules(
    release: str, inside: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/srv:/usr/bin:/bin")
        words = (f"--target-namespaces={inside.pid}", "-DSTP_NO_OVERLOAD", "-e")
        folder = tmp_path_factory.mktemp("modules")
        return make(release, folder, hits=(*words, HITS), pending=(*words, PENDING))


def begun(lower: Path, files: Path) -> str:
    return BEGIN.format(lower=lower, files=files, container=CONTAINER)


def test_programs_of_a_container(
    pair: Machine, modules: dict[str, Path], lower: Path, files: Path
) -> None:
    """Found by their names there, told by its numbers, with the stacks of its libraries."""
    text = begun(lower, files) + "begin; $run -N $inner $hits; kill -9 $inner; gone"
    lines, result = shell(pair, modules, text, 180)
    assert lines == [
        "1 77 0 tool",
        "helper < work < stay",
        "/srv/tool",
        "1 1",
        "end",
    ], result.stderr.decode()


def test_who_is_no_such_container(
    pair: Machine, modules: dict[str, Path], lower: Path, files: Path, tmp_path: Path
) -> None:
    """Each is refused in one line: nobody, no such file there, another build of it, by accident."""
    other = tmp_path / "other"
    shutil.copytree(files, other)
    built(
        other / "tool", "-O2", str(files / "tool.c"), str(files / "libonly.so"), "-Wl,-rpath,/srv"
    )
    text = f"""
    $run -N 3999999 $hits; echo $?
    $run -N $$ $hits; echo $?
    {begun(lower, other)} begin; $run -N $inner $hits; echo $?; kill -9 $inner; gone
    $run $hits; echo $?
    """
    lines, result = shell(pair, modules, text, 180)
    assert lines == ["1", "1", "1", "1"], result.stderr.decode()
    told = [line for line in result.stderr.decode().splitlines() if line.startswith("ERROR: ")]
    assert len(told) == 4, told
    assert told[0] == "ERROR: Couldn't use the name spaces of process 3999999: No such process"
    assert re.fullmatch(
        r"ERROR: Couldn't resolve target program file path '/srv/\S+' of process \d+'s name space: "
        "No such file or directory",
        told[1],
    )
    assert re.match(
        r"ERROR: '/srv/tool' of process \d+'s name space is not the program that ", told[2]
    ), told
    assert re.fullmatch(
        r"ERROR: Couldn't use the name spaces of process \d+: the module was made for 'sleep' on "
        "another machine, or before this one was booted; stapy-run -N PID names the process to use",
        told[3],
    ), told


def test_a_container_that_ends_while_probes_are_armed(
    pair: Machine, modules: dict[str, Path], lower: Path, files: Path
) -> None:
    """Mounts, numbers and users are gone, calls never returned: the session goes on and ends."""
    text = f"""
    {begun(lower, files)}
    for turn in 0 1 2 3; do
        begin; $run -N $inner $pending >out 2>err & session=$!
        wait_for '[ "$(state pending)" = running ]' >&2; sleep 1
        case $turn in
        1) nsenter -t $inner -m -p /bin/umount -l /srv || echo still there ;;
        3) kill -9 $session ;;
        esac
        kill -9 $inner; gone; sleep 1
        [ $turn = 2 ] && begin && kill -9 $inner && gone
        [ $turn = 3 ] || {{ state pending; kill -TERM $session; wait $session; echo status $?; }}
        cat out; grep -v "^WARNING\\|$accounts" err
        wait_for '[ $(loaded pending) = 0 ]' >&2; grep -c $box /proc/mounts
    done
    """
    lines, result = shell(pair, modules, text, 400)
    ended = ["running", "status 0", "gone tool 1", "hits", "0"]
    assert lines == [*ended * 3, "0"], (lines, result.stderr.decode())
