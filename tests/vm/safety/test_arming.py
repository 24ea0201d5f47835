"""Arming conditions that change all the time: under load, on two processors, until killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

LIMITS = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000000")
FAST = "-DSTP_ON_THE_FLY_INTERVAL=1000000"
ENTRIES = 'kernel.function("vfs_*"), kernel.trace("sched_*")'
PLACES = f'{ENTRIES}, kernel.function("security_file_*").return'
# Half of the probes are armed while the other half is not, and a handler on reads changes that.
FLIPS = f"""global one, other, n, m, flips
probe {PLACES} if (one) {{ n++ }}
probe {PLACES}, timer.us(300) if (other && flips % 3) {{ m <<< 1 }}
probe kernel.function("vfs_read") {{ if (++flips % 40 == 0) other = !other }}
probe timer.ms(4) {{ one = !one; switches++ }}
probe timer.ms(150).randomize(100) if (one || other) {{ one = other = 0 }}
probe timer.ms(250) {{
    if (n && @count(m) && flips > 1000 && switches > 500 || ++looks > 400) exit()
}}
global switches, looks
probe end {{
    printf("hits=%d\\nothers=%d\\n", n > 0, @count(m) > 0)
    printf("flips=%d\\n", flips > 1000 && switches > 500)
}}
"""
SLOW = f"""global on, n, turns
probe {PLACES} if (on) {{ n++ }}
probe timer.ms(250) {{ on = !on; turns++ }}
probe timer.ms(250) {{ if (n && turns > 10 || ++looks > 400) exit() }}
global looks
probe end {{ printf("hits=%d\\nturns=%d\\n", n > 0, turns) }}
"""
LEAVES = f"""global on, n
probe {PLACES} if (on) {{ n++ }}
probe timer.ms(30) {{ on = !on }}
probe timer.ms(1000).randomize(900) {{ exit() }}
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("modules")
    return make(
        release,
        folder,
        flips=(*LIMITS, FAST, "-e", FLIPS),
        slow=(*LIMITS, FAST, "-e", SLOW),
        leaves=(*LIMITS, FAST, "-e", LEAVES),
    )


@pytest.mark.parametrize("name", ["flips", "slow"])
def test_under_load(pair: Machine, modules: dict[str, Path], name: str) -> None:
    """Nothing is lost to the kernel, and both kinds of probes are hit at times."""
    text = f"""
    storm 2; $run ${name} 2>err; echo status=$?; calm
    echo loaded=$(loaded {name}) folders=$(folders)
    grep -v "Skipped\\|$accounts" err; echo probes=$(probes)
    """
    lines, _ = shell(pair, modules, text, 100)
    found = figures(lines)
    assert found["status"] == 0 and found["hits"] == 1 and found["probes"] == 0, lines
    assert "loaded=0 folders=0" in lines, lines
    if name == "flips":
        assert found["others"] == found["flips"] == 1, lines
    else:
        assert found["turns"] > 10, lines


def test_killed_while_probes_are_switched(pair: Machine, modules: dict[str, Path]) -> None:
    """At any moment the session ends at once, and nothing stays armed."""
    text = """
    kills=0
    for moment in 03 11 14 17; do
        $run $slow >out 2>err & victim=$!
        wait_for '[ "$(state slow)" = running ]'
        sleep ${moment%?}.${moment#?}; kill -9 $victim; wait $victim 2>/dev/null
        wait_for '[ $(loaded slow) = 0 ]' # the kernel's helper removes it
        [ $(probes) = 0 ] && [ $(folders) = 0 ] && kills=$((kills + 1))
    done
    for round in 1 2 3; do
        $run $leaves >out 2>err || cat err
        [ $(loaded leaves) = 0 ] || echo stays
    done
    echo kills=$kills
    """
    lines, result = shell(pair, modules, text, 240)
    assert lines == ["kills=4"], (lines, result.stderr)
