"""Files that are probed: in two overlays, without a name, with rights of their own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled, run
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Timers run when all is armed.
ARMED = 'global armed probe timer.ms(20) { if (!armed++) println("armed") }'
OPTIONS = ("-O1", "-no-pie", "-fcf-protection=none")
CALLER = r"""
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(int count, char **words)
{
	for (int left = atoi(words[1]); left--;) {
		work(left);
		if (count > 2)
			usleep(20000);
	}
	return 0;
}
"""


LIBRARY = "__attribute__((noipa)) int own(int n) { return n + 1; }"


def test_two_overlays_of_one_layer(guest: Machine, release: str, tmp_path: Path) -> None:
    """A file of the layer below is probed through both, until one of them has a copy of its own."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    program = compiled(tmp_path / "one", CALLER, *OPTIONS, name="caller")
    script = f"""
    global hits, frees
    probe process("{program}").function("work") {{ hits++ }}
    probe process("{program}").begin {{ begun++ }} global begun
    """
    end = ' probe end { printf("hits %d begun %d\\n", hits, begun) }'
    modules = make(release, tmp_path, both=script + ARMED + end)
    text = f"""
    cp {program} kept; mount -t tmpfs none {tmp_path}; cd {tmp_path}
    mkdir low one two up1 up2 work1 work2; mv $OLDPWD/kept low/caller
    mount -t overlay -o lowerdir=low,upperdir=up1,workdir=work1 none one
    mount -t overlay -o lowerdir=low,upperdir=up2,workdir=work2 none two
    $run $both >/run/both.out & consumer=$!; wait_for 'grep -q armed /run/both.out' >&2
    one/caller 1; two/caller 2; low/caller 4
    chmod 700 one/caller; ls up1; one/caller 8; two/caller 16
    kill -INT $consumer; wait $consumer; cat /run/both.out
    cd /; umount {tmp_path}/one {tmp_path}/two {tmp_path}; echo free
    """
    lines, result = shell(guest, modules, text)
    # Who begins is asked by the name, which the copy has now.
    assert lines == ["caller", "armed", "hits 23 begun 5", "free"], (lines, result.stderr)


def test_a_program_that_was_deleted(guest: Machine, release: str, tmp_path: Path) -> None:
    """It is that of the process, whatever has its name; and by an address that the process has.

    The process of the guest gets the number that one has here, whose file is deleted as well.
    """
    kept = compiled(tmp_path, CALLER, *OPTIONS, name="kept")
    program = tmp_path / "program"
    subprocess.run(["cp", str(kept), str(program)], check=True)
    named = subprocess.run(["nm", str(kept)], capture_output=True, text=True, check=True)
    address = next(line.split()[0] for line in named.stdout.splitlines() if line.endswith(" work"))
    with subprocess.Popen([str(program), "1000000", "slowly"]) as here:
        try:
            program.unlink()
            script = f"""
            global hits, others, absolute
            probe process({here.pid}).function("work") {{
                pid() == {here.pid} ? hits++ : others++
            }}
            probe process({here.pid}).statement(0x{address}).absolute {{
                pid() == {here.pid} ? absolute++ : others++
            }}
            probe timer.ms(100) {{ if (hits > 9 && absolute > 9) exit() }}
            probe end {{ printf("%d %d others %d\\n", hits > 9, absolute > 9, others) }}
            """
            modules = make(release, tmp_path, gone=("-g", "-e", script))
        finally:
            here.kill()
    text = f"""
    cp {kept} program; numbered {here.pid} ./program 1000000 slowly >&2
    ./program 1000000 slowly & other=$!
    for one_of in $one $other; do # a shell's child runs the program some time after it was begun
        wait_for 'readlink /proc/$one_of/exe | grep -q /program' >&2
    done
    rm program; cp /bin/true program
    $run $gone; echo status $?; kill $one $other
    """
    lines, result = shell(guest, modules, text, 120)
    assert lines == ["1 1 others 0", "status 0"], (lines, result.stderr)


def test_files_that_others_take_the_place_of(guest: Machine, release: str, tmp_path: Path) -> None:
    """An upgrade leaves another file at the path: it is told, once, while the session runs."""
    program = compiled(tmp_path, CALLER, *OPTIONS, "-Wl,--build-id", name="caller")
    other = compiled(tmp_path, CALLER, "-O2", "-no-pie", "-Wl,--build-id", name="other")
    library = compiled(tmp_path, LIBRARY, "-O1", "-shared", "-fPIC", name="libown.so.1.2")
    (ident,) = re.findall(r"Build ID: (\w+)", run("readelf", "-n", str(other)))
    script = f"""
    global hits
    probe process("{program}").function("work") {{ hits++ }}
    probe process("{library}").function("own") {{ hits++ }}
    """
    end = ' probe end { println("hits ", hits) }'
    modules = make(release, tmp_path, works=script + ARMED + end)
    text = f"""
    mkdir kept; cp {program} {other} {library} kept; mount -t tmpfs none {tmp_path}
    cd {tmp_path}; cp $OLDPWD/kept/* .
    $run $works >/run/works.out 2>/run/works.err & consumer=$!
    wait_for 'grep -q armed /run/works.out' $consumer >&2
    ./caller 1; mv other caller; ./caller 2; wait_for 'grep -q WARNING /run/works.err' >&2
    rm libown.so.1.2; kill -INT $consumer; wait $consumer; echo status $?
    cat /run/works.out /run/works.err; cd /; umount {tmp_path}
    """
    lines, result = shell(guest, modules, text)
    assert lines == [
        "status 0", "armed", "hits 1",
        f"WARNING: '{program}' was replaced while the session ran: what is run from the new file "
        f"(build-id {ident}) is not probed",
        f"WARNING: '{library}' was removed while the session ran: what is run from a file that has "
        "taken its place is not probed",
    ], (lines, result.stderr)  # fmt: skip


def test_a_file_system_that_stops_answering(guest: Machine, release: str, tmp_path: Path) -> None:
    """A session goes on beside it, and ends; what was not looked at is told."""
    kept = compiled(tmp_path, CALLER, *OPTIONS, "-Wl,--build-id", name="kept")
    place = tmp_path / "place"
    place.mkdir()
    shutil.copy(kept, place / "hung")
    helper = Path(__file__).parent / "safety" / "hung_files.py"
    script = f"""
    global hits, ticks
    probe process("{place}/hung").function("work") {{ hits++ }}
    probe timer.ms(200) {{ println("tick ", ticks++) }}
    probe end {{ println("hits ", hits) }}
    """
    modules = make(release, tmp_path, works=script)
    text = f"""
    modprobe fuse 2>/dev/null
    python3 {helper} {place} {kept} $PWD/silent & server=$!
    wait_for '[ -x {place}/hung ]' $server >&2
    $run $works >out 2>err & consumer=$!
    wait_for 'grep -q tick out' $consumer >&2
    {place}/hung 3; touch silent
    hangs() {{ # tell whether one of ours waits for the file system
        for one_ in $(grep -ls fuse_ /proc/[0-9]*/stack); do
            grep -qs ^stapy ${{one_%stack}}comm && return 0
        done
        return 1
    }}
    runs() {{ grep -qs 'State:.[RSD]' /proc/$consumer/status; }}
    wait_for hangs $consumer >&2
    ticks=$(wc -l <out); wait_for '[ $(wc -l <out) -gt $((ticks + 5)) ]' && echo goes on
    kill -INT $consumer; wait_for '! runs' && echo ended
    loaded works; rm silent; kill -9 $server
    wait $consumer; echo status $?; tail -n 1 out; cat err; umount -l {place}
    """
    lines, result = shell(guest, modules, text)
    assert lines == [
        "goes on", "ended", "0", "status 0", "hits 3",
        f"WARNING: whether '{place}/hung' is replaced is not known: its file system has not "
        "answered within 5 seconds",
    ], (lines, result.stderr)  # fmt: skip


# Tells by its own text whether it is armed.
SELF = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(void)
{
	int sum = work(1);

	printf("%d %d %d %s\n", sum, getuid(), geteuid(),
		*(volatile unsigned char *) work == 0xcc ? "armed" : "clean");
	return 0;
}
"""


def test_a_program_with_the_rights_of_its_owner(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Root sees it whoever runs it; who may not debug it sees nothing of it."""
    program = compiled(tmp_path, SELF, *OPTIONS, name="self")
    script = f'global hits probe process("{program}").function("work") {{ hits++ }}'
    script += f'probe process("{program}").function("work").return {{ hits += 10 }}'
    script += ARMED + ' probe end { println("hits ", hits) }'
    modules = make(release, tmp_path, everybody=script, own=("--privilege=stapusr", "-e", script))
    text = f"""
    cp {program} kept; mount -t tmpfs none {tmp_path}; cd {tmp_path}; mv $OLDPWD/kept self
    chown 65534 self; chmod 4755 self; chmod 755 .
    session() {{
        $run $1 >/run/out & consumer=$!; wait_for 'grep -q armed /run/out' >&2
        ./self; setpriv --reuid=65533 --clear-groups ./self; chmod 755 self; ./self; chmod 4755 self
        kill -INT $consumer; wait $consumer; cat /run/out; rm /run/out
    }}
    session $everybody; session $own; cd /; umount {tmp_path}; echo free
    """
    lines, result = shell(guest, modules, text)
    assert lines == [
        "2 0 65534 armed", "2 65533 65534 armed", "2 0 0 armed", "armed", "hits 33",
        "2 0 65534 clean", "2 65533 65534 clean", "2 0 0 armed", "armed", "hits 11", "free",
    ], (lines, result.stderr)  # fmt: skip
