"""Modules that come and go under load, and consumers that are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Counts, not seconds: a busy machine would have few rounds in its time, and prove little.
ROUNDS = 200 if LONG else 16
KILLS = 50 if LONG else 8

BUSY = """
global hits, by[1000], sizes
probe syscall_any { by[pid(), name] <<< 1; hits++ }
probe kernel.function("vfs_read") { sizes <<< $count; by[pid(), execname()] <<< $count }
probe kernel.function("vfs_read").return { printf("%d %d\\n", pid(), $return) }
probe kernel.trace("sched_switch") { hits++ }
probe timer.ms(10) { printf("%s\\n", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") }
probe begin { println("begin") }
probe end { printf("hits %d, mean %d\\n", hits, @count(sizes) ? @avg(sizes) : 0) }
"""
# kB that may be used more at the end than at the beginning: by a guest's other business, and by
# what the kernel keeps for later. One session has some 10 MB with its two processors.
ALLOWED = {"Slab": 6_000, "VmallocUsed": 1_000, "Percpu": 500, "Used": 12_000}
CHECKS = " && ".join(f"below {name} {kb}" for name, kb in ALLOWED.items())
# What was freed page by page is kept for the processor that did it, up to 30 MB of a guest's
# memory, and is no part of MemFree: it is free all the same.
MEMORY = f"""
memory() {{ # kB that are not free, but for caches that the kernel gives back
    rm -f out err # they lie in memory
    echo 3 >/proc/sys/vm/drop_caches
    awk '/^(MemTotal|MemFree|Slab|VmallocUsed|Percpu):/ {{ sub(":", "", $1); kb[$1] = $2 }}
         /^ +count:/ {{ kept += 4 * $2 }}
         END {{ kb["Used"] = kb["MemTotal"] - kb["MemFree"] - kept
               for (name in kb) print name "=" kb[name] }}' /proc/meminfo /proc/zoneinfo
}}
grown() {{ echo $(($(sed -n "s/^$1=//p" is) - $(sed -n "s/^$1=//p" was))); }}
below() {{ [ $(grown $1) -lt $2 ]; }}
back() {{ memory >is; {CHECKS}; }}
before() {{ memory >was; sed s/^/before/ was; }}
after() {{ # a busy machine frees late what was given up
    wait_for back >&2; sed s/^/after/ is
}}
"""
# Rings and an array of 60 MB, against which all else is small: in kB, what the session has
# while it lives and what may be left when it was given up, which is the module and its messages.
LARGE = """
global large[60000]
probe begin { large[pp()] = pp() }
probe timer.ms(10) { println("xxxxxxxx") }
"""
LARGE_MB, HAS, LEAVES = 12, 70_000, 6_000


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    words = ("-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD", "-e", BUSY)
    large = ("-DMAXSTRINGLEN=400", "-e", LARGE)
    return make(release, tmp_path_factory.mktemp("modules"), busy=words, large=large)


def check_memory(found: dict[str, int]) -> None:
    """Back to where it was, within what a guest's other business needs."""
    for name, allowed in ALLOWED.items():
        grown = found["after" + name] - found["before" + name]
        assert grown < allowed, f"{name}: {grown} kB more are used\n{found}"


def test_loading_and_unloading_under_load(pair: Machine, modules: dict[str, Path]) -> None:
    text = f"""
    {MEMORY}
    # The first round makes what the kernel keeps: caches, ftrace's pages, this shell's own.
    insmod $busy && rmmod busy; $run -T 0.2 $busy >/dev/null 2>&1
    sleep 1; before; storm 2
    failures=0; rounds=0
    while [ $rounds -lt {ROUNDS} ]; do
        if [ $((rounds % 4)) = 3 ]; then
            $run -T 0.05 $busy >out 2>err || {{ failures=$((failures + 1)); cat err; }}
        else # started and stopped by hand, without the cost of the consumer
            insmod $busy || failures=$((failures + 1))
            (echo "start 0" >&3; dd if=/dev/zero of=/dev/null bs=1 count=200; stop_by_hand) \\
                3>/proc/stapy_busy/control 2>/dev/null || failures=$((failures + 1))
            rmmod busy || failures=$((failures + 1))
        fi
        rounds=$((rounds + 1))
    done
    calm; after
    echo rounds=$rounds; echo failures=$failures
    echo loaded=$(loaded busy); echo folders=$(folders); echo probes=$(probes)
    """
    lines, result = shell(pair, modules, text, 120 + 10 * ROUNDS)
    found = figures(lines)
    print(f"\n{found['rounds']} rounds, {result.seconds:.0f} s")
    assert found["failures"] == 0, (lines, result.stderr)
    assert found["loaded"] == found["folders"] == found["probes"] == 0, found
    check_memory(found)


def test_killed_consumers(pair: Machine, modules: dict[str, Path]) -> None:
    """kill -9 at random moments: the session ends, and its module goes by itself."""
    text = f"""
    {MEMORY}
    $run -T 0.2 $busy >/dev/null 2>&1
    start=$(now); $run -T 0.2 $busy >/dev/null 2>&1; usual=$(($(now) - start))
    sleep 1; before; storm 1
    kills=0; left=0; failures=0
    while [ $kills -lt {KILLS} ]; do
        $run $busy >out 2>err & victim=$!
        if [ $((kills % 4)) = 3 ]; then # this one in the middle of its session
            wait_for '[ "$(state busy)" = running ]'
        else
            moment=$(($(od -An -N2 -tu2 /dev/urandom) % (usual * 2)))
            sleep $(printf '%d.%02d' $((moment / 100)) $((moment % 100)))
        fi
        [ "$(state busy)" != running ] || left=$((left + 1))
        kill -9 $victim; wait $victim 2>/dev/null
        kills=$((kills + 1))
        # Also one that was loaded and never opened, half a minute later.
        wait_for '[ $(loaded busy) = 0 ]' || failures=$((failures + 1))
        [ $(probes) = 0 ] && [ $(folders) = 0 ] || failures=$((failures + 1))
    done
    calm; after
    echo kills=$kills; echo left=$left; echo failures=$failures
    echo loaded=$(loaded busy); echo folders=$(folders); echo probes=$(probes)
    """
    lines, result = shell(pair, modules, text, 120 + 40 * KILLS)
    found = figures(lines)
    running = f"{found['left']} of them of running sessions"
    print(f"\n{found['kills']} kills, {running}, no module left, {result.seconds:.0f} s")
    assert found["left"] > 0, found  # or nothing was tested
    assert found["failures"] == 0, (lines, result.stderr)
    assert found["loaded"] == found["folders"] == found["probes"] == 0, found
    check_memory(found)


def test_what_a_killed_consumer_leaves(pair: Machine, modules: dict[str, Path]) -> None:
    """Where no program removes modules, one stays without its memory; the next session may come."""
    text = f"""
    {MEMORY}
    used() {{ memory >is; grown Used; }}
    $run -T 0.2 $large >/dev/null 2>&1; sleep 1; before
    rmmod=$(readlink -f $(command -v rmmod)); mount --bind /bin/false $rmmod
    for round in 1 2; do
        $run -b {LARGE_MB} $large >/dev/null 2>&1 & victim=$!
        wait_for '[ "$(state large)" = running ]'; echo running$round=$(used)
        kill -9 $victim; wait $victim 2>/dev/null
        # What was seen once is given back; another look would see the guest's other business.
        wait_for '[ "$(state large)" = stopped ] && left=$(used) && [ $left -lt {LEAVES} ]'
        echo stopped$round=$left; echo mapped$round=$(grep -cF '[large]' /proc/vmallocinfo)
        # It was opened once more: what is freed already must not be freed again.
        timeout 5 cat /proc/stapy_large/output >rest; echo rest$round=$(wc -c <rest)
        (echo "start 0" >&3) 3>/proc/stapy_large/control && echo started=$round
        wait_for '[ $(cat /sys/module/large/refcnt) = 0 ]'
    done
    umount -l $rmmod # the kernel's helper may be running it
    $run -d large; echo loaded=$(loaded large); echo folders=$(folders); after
    """
    lines, result = shell(pair, modules, text, 120)
    found = figures(lines)
    for n in ("1", "2"):  # the second takes the place of what the first has left
        assert found["running" + n] > HAS, (found, result.stderr)
        assert found["stopped" + n] < LEAVES, (found, result.stderr)
        assert found["mapped" + n] == found["rest" + n] == 0, found
    assert "started" not in found, found
    assert found["loaded"] == found["folders"] == 0, (found, result.stderr)
    check_memory(found)
