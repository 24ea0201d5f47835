"""Hooks of netfilter that come and go in a storm of packets, as network namespaces do."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell
from tests.vm.safety.test_load import MEMORY, check_memory

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 400 if LONG else 4
PACKETS = 500_000 if LONG else 20_000

BUSY = """
global sizes, by[1000]
probe netfilter.ip.*, netfilter.arp.*, netfilter.bridge.* {
  sizes <<< length
  by[pn(), indev_name] <<< $skb->len
  if (randint(50) == 0) printf("%s %s\\n", data_hex, data_str)
}
probe netfilter.ipv4.local_in { if (randint(3) == 0) $verdict = nf_drop }
probe end { printf("hits %d\\n", @count(sizes)) }
"""
# Nothing but a statistic, which no two hits wait for.
COUNT = """
global out, into
probe netfilter.ip.local_out { if (dport == 4020) out <<< length }
probe netfilter.ip.local_in { if (dport == 4020) into <<< length }
probe end { printf("out=%d\\nin=%d\\nbytes=%d\\n", @count(out), @count(into), @sum(out)) }
"""
SEND = """
import socket, sys, time
family, where = (2, "127.0.0.1") if sys.argv[1] == "4" else (10, "::1")
s = socket.socket(family, 2)
number, burst, pause = map(int, sys.argv[2:])
while number:
    if pause and number % burst == 0: time.sleep(pause / 1000) # let others start
    try: s.sendto(b"x" * 72, (where, 4020))
    except OSError: pass # the answer to an earlier one: nobody is there
    else: number -= 1
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    busy = ("-g", "-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD", "-e", BUSY)
    return make(release, folder, busy=busy, count=("-DSTP_NO_OVERLOAD", "-e", COUNT))


def test_sessions_in_a_storm_of_packets(pair: Machine, modules: dict[str, Path]) -> None:
    text = f"""
    {MEMORY}
    cat >send.py <<'END'
{SEND}
END
    $run -T 0.2 $busy >/dev/null 2>&1; unshare -n true
    sleep 1; before
    for family in 4 6; do
        nice -n 19 python3 send.py $family 1000000000 20 20 & storms="$storms $!"
    done
    sent() {{
        awk '/^Udp: [0-9]/ {{ n = $5 }} /^Udp6OutD/ {{ m = $2 }} END {{ print m ? n + m : 0 }}' \\
            /proc/net/snmp /proc/net/snmp6
    }}
    wait_for '[ $(sent) -gt 100 ]' # both have begun
    # To end a namespace takes the kernel a second in here; who registers waits for it.
    while :; do unshare -n true; sleep 1; done & storms="$storms $!"
    rounds=0; killed=0; failures=0
    while [ $rounds -lt {ROUNDS} ]; do
        case $((rounds % 4)) in
        2) $run $busy >out & wait_for '[ "$(state busy)" = running ]' >/dev/null
           kill -9 $!; wait $! 2>/dev/null; killed=$((killed + 1))
           wait_for '[ $(loaded busy) = 0 ]' || failures=$((failures + 1)) ;;
        3) $run -T 1 $busy >out 2>err || {{ failures=$((failures + 1)); cat err; }}
           grep -q '^hits [1-9]' out || {{ failures=$((failures + 1)); tail -n 2 out; }} ;;
        *) insmod $busy || failures=$((failures + 1))
           (echo "start 0" >&3; dd if=/dev/zero of=/dev/null bs=1 count=200; stop_by_hand) \\
               3>/proc/stapy_busy/control 2>/dev/null || failures=$((failures + 1))
           rmmod busy || failures=$((failures + 1)) ;;
        esac
        rounds=$((rounds + 1))
    done
    calm; after; echo sent=$(sent)
    echo rounds=$rounds; echo killed=$killed; echo failures=$failures
    echo loaded=$(loaded busy); echo folders=$(folders)
    """
    lines, result = shell(pair, modules, text, 100 * ROUNDS)
    found = figures(lines)
    print(f"\n{found['rounds']} rounds, {found['sent']} packets, {result.seconds:.0f} s")
    assert found["rounds"] == 4 * found["killed"] == ROUNDS, found
    assert found["failures"] == found["loaded"] == found["folders"] == 0, (lines, result.stderr)
    check_memory(found)


def test_no_packet_is_missed(pair: Machine, modules: dict[str, Path]) -> None:
    """Two processors send and receive at once: a packet that comes while one is sent counts."""
    text = f"""
    cat >send.py <<'END'
{SEND}
END
    cat >all.sh <<'END'
    echo 1000000 >/proc/sys/net/core/netdev_max_backlog # or the loopback device drops some
    for f in 4 6 4 6; do python3 send.py $f {PACKETS} 1 0 & done; wait; sleep 1
END
    $run -c 'sh all.sh' $count
    """
    lines, result = shell(pair, modules, text, 400)
    assert result.stderr == b"", result.stderr
    found = figures(lines)
    assert found["out"] == found["in"] == 4 * PACKETS, found
    assert found["bytes"] == 2 * PACKETS * (100 + 120), found


# The kernel has 1,024 hooks at most at one place.
FULL = f"""
probe {", ".join(['netfilter.hook("NF_INET_LOCAL_OUT").pf("NFPROTO_IPV4")'] * 1030)} {{ n++ }}
probe netfilter.hook("NF_INET_LOCAL_OUT").pf("NFPROTO_IPV6") {{ others++ }}
probe end {{ printf("hits=%d\\nothers=%d\\n", n, others) }}
global n, others
"""


def test_hooks_that_the_kernel_refuses(guest: Machine, release: str, tmp_path: Path) -> None:
    """They are warnings, one for each: the session goes on with the others, in all namespaces."""
    modules = make(release, tmp_path, full=("-DSTP_NO_OVERLOAD", "-e", FULL))
    text = f"""
    cat >send.py <<'END'
{SEND}
END
    cat >all.sh <<'END'
    ip link set lo up; python3 send.py 4 1 1 0; python3 send.py 6 1 1 0; unshare -n true
END
    $run -c 'sh all.sh' $full 2>err; echo status=$?
    echo warnings=$(grep -c '^WARNING: probe .* registration error (rc -7)$' err)
    echo lines=$(wc -l <err); echo loaded=$(loaded full)
    """
    lines, result = shell(guest, modules, text, 120)
    found = figures(lines)
    assert found["status"] == found["loaded"] == 0, (lines, result.stderr)
    assert found["warnings"] == found["lines"] == 6, (lines, result.stderr)
    assert found["hits"] >= 1024 and found["hits"] % 1024 == 0 and found["others"] > 0, lines
