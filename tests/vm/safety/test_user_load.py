"""Functions of every process that has them, with times and stacks as keys, while others work."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

LINES = 12  # typed at a prompt
# A stack begins at the function and has whoever called it; programs come and go, each with its
# own addresses, so the oldest stacks make room.
SCRIPT = f"""
global took, from%[400], sizes, texts, wrong, deep, told
probe process("libc.so.6").function("malloc") {{
    stack = ubacktrace()
    from[stack] <<< ulong_arg(1)
    sizes[execname()] <<< ulong_arg(1)
    if (tokenize(stack, " ") != sprintf("%#x", uaddr())) wrong++
    n = 1
    while (tokenize(" ") != "") n++
    if (n > 3) deep[execname()]++
}}
probe process("libc.so.6").function("malloc").return {{
    took["malloc"] <<< gettimeofday_ns() - @entry(gettimeofday_ns())
    if (returnval() & 15) wrong++
}}
probe process("/bin/bash").function("readline").return {{
    took["readline"] <<< gettimeofday_ns() - @entry(gettimeofday_ns())
    line = user_string(returnval(), "")
    if (line =~ "^echo said") texts++
}}
probe timer.ms(100) {{
    if (texts >= {LINES} && @count(took["malloc"]) > 3000 && deep["sort"] > 50 && deep["bash"] > 50
        && "python3" in sizes && !told++) println("seen")
}}
probe end {{
    foreach (stack in from) stacks++
    printf("wrong=%d\\nlines=%d\\nstacks=%d\\n", wrong, texts, stacks)
    printf("readlines=%d\\n", @count(took["readline"]))
    printf("mallocs=%d\\npositive=%d\\n", @count(took["malloc"]),
           @min(took["malloc"]) > 0 && @min(took["readline"]) > 0)
    foreach (name in sizes) printf("%s_sizes=%d\\n", name, @count(sizes[name]))
    foreach (name in deep) printf("%s_deep=%d\\n", name, deep[name])
}}
"""
# Types lines at an interactive shell and waits for what it answers to each.
TYPE = r"""
import os, pty, sys
pid, terminal = pty.fork()
if not pid:
    os.environ["TERM"] = "dumb"
    os.execv("/bin/bash", ["bash", "--norc", "--noprofile", "-i"])
text = b""
for number in range(int(sys.argv[1])):
    os.write(terminal, b"echo said$((%d + 0))\n" % number)
    while b"\nsaid%d\r" % number not in text:
        text += os.read(terminal, 4096)
os.write(terminal, b"exit\n")
print("typed", flush=True)
os.waitpid(pid, 0)
"""


def test_every_process_with_stacks_and_times(guest: Machine, release: str, tmp_path: Path) -> None:
    """Each hit has its stack, its time and its result; programs go on as if nothing was."""
    words = ("-DMAXSKIPPED=1000000", "-DSTP_NO_OVERLOAD", "-DMAXSTRINGLEN=400", "-e", SCRIPT)
    modules = make(release, tmp_path, load=words)
    text = f"""
    cat >type.py <<'END'
{TYPE}
END
    cat >work.sh <<'END'
n=0
while :; do
    [ "$(printf '%s\\n' c b a | /usr/bin/sort | head -n 1)" = a ] || echo damaged
    n=$((n + 1))
done
END
    seq 400 >numbers
    /bin/bash work.sh >worked 2>&1 & storms="$storms $!"
    while :; do /usr/bin/sort -rn numbers -o sorted || echo failed; done >sorting 2>&1 &
    storms="$storms $!"; behind
    $run $load >out 2>err & session=$!; wait_for '[ "$(state load)" = running ]' $session >&2
    /usr/bin/python3 type.py {LINES}; wait_for 'grep -q seen out' $session >&2
    kill -INT $session; wait $session; echo status=$?; calm
    grep = out; cat worked sorting; said >&2
    """
    lines, result = shell(guest, modules, text, 240)
    found = figures(lines)
    assert [line for line in lines if "=" not in line] == ["typed"], (lines, result.stderr)
    print(f"\n{found}, {result.seconds:.0f} s")
    assert found["status"] == found["wrong"] == 0, (found, result.stderr)
    assert found["lines"] == LINES, (found, result.stderr)
    assert found["readlines"] == LINES + 1, (found, result.stderr)
    assert found["positive"] == 1, (found, result.stderr)
    assert found["mallocs"] > 3000 and found["stacks"] > 50, found
    assert min(found["bash_deep"], found["sort_deep"]) > 50, (found, result.stderr)
    assert min(found[f"{name}_sizes"] for name in ("bash", "sort", "python3")) > 0, found
