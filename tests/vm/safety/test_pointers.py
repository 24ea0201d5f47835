"""Bad pointers through everything that reads memory: a value or a caught error, never an oops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

POINTERS = 10_000 if LONG else 1_000

# Written by user as well as by kernel functions: the family is in the name.
PLAIN = [
    *(
        f"{who}_{what}(p)"
        for who in ("kernel", "user")
        for what in ("char", "short", "int", "long")
    ),
    *(f"{who}_string(p)" for who in ("kernel", "user")),
    *(f"{who}_string_n(p, 300)" for who in ("kernel", "user")),
    *(f'{who}_string2(p, "none")' for who in ("kernel", "user")),
    "kernel_pointer(p)",
    "user_int16(p)",
    "user_uint64(p)",
    "user_string_quoted(p)",
    "user_string_utf16(p)",
    "kernel_string_utf32(p)",
    "kernel_string_quoted(p)",
    "kernel_buffer_quoted(p, 100)",
    'sprintf("%20m %200M", p, p)',
]
CHAINS = [
    '@cast(p, "task_struct")->pid',
    '@cast(p, "task_struct")->mm->pgd->pgd',
    '@cast(p, "task_struct")->signal->rlim[3]->rlim_cur',
    '@cast(p, "task_struct")->parent->comm[2]',
    'kernel_string(@cast(p, "task_struct")->comm)',
    '@cast(p, "file")->f_inode->i_sb->s_dev',
    '@cast(p, "file")->f_inode->i_sb->s_type->name$',
    '@cast(p, "sk_buff")->dev->ifindex',
    '@cast(p, "page")->flags',
    '@cast(p, "list_head")->next->next->prev->next',
    '@cast(p, "task_struct")$',
    '@cast(p, "dentry")$$',
]
TAPSETS = [
    "atomic_read(p)",
    "d_name(p)",
    "inode_name(p)",
    "inode_path(p)",
    "reverse_path_walk(p)",
    "fullpath_struct_path(p)",
    "fullpath_struct_file(task_current(), p)",
    "task_execname(p)",
    "task_pid(p)",
    "task_parent(p)",
    "task_euid(p)",
    "task_state(p)",
    "task_nice(p)",
    "task_cpu(p)",
    "task_ns_pid(p)",
    "task_ns_tid(p)",
    "addr_to_node(p)",
    "task_ancestry(p, 1)",
    "task_cwd_path(p)",
    "task_exe_file(p)",
    "task_fd_lookup(p, 1)",
    "task_open_file_handles(p)",
    "task_max_file_handles(p)",
    "pid2task(p)",
    "pid2execname(p)",
    "bdevname(p)",
    "get_netdev_name(p)",
    "inet_get_local_port(p)",
    "inet_get_ip_source(p)",
    "ip_ntop(p)",
    "symname(p)",
    "symdata(p)",
    "modname(p)",
    "usymname(p)",
    "usymdata(p)",
    "pstrace(p)",
]
GROUPS = {"plain": PLAIN, "chains": CHAINS, "tapsets": TAPSETS}

# A generator of the script's own, so that a failure can be had again.
SCRIPT = """
global x = $1, values, faults, other, done
function pointer(kind, r) {{
    if (kind == 0) return r & 0xfff                                 // page of NULL
    if (kind == 1) return 0x800000000000 + (r & 0x7fffffffffff)     // not canonical
    if (kind == 2) return r                                         // anything
    if (kind == 3) return 0xffff800000000000 + (r & 0x7ffffffffff)  // hole before the direct map
    if (kind == 4) return 0xffffc90000000000 + (r & 0x1fffffffffff) // vmalloc
    if (kind == 5) return 0xffff888000000000 + (r & 0x3fffffffffff) // direct map and behind
    if (kind == 6) return 0xffffffff80000000 + (r & 0x7fffffff)     // kernel, modules, fixmap
    if (kind == 7) return r & 0x7fffffffffff                        // user
    if (kind == 8) return 0xffffffffff600000 + (r & 0xfff)          // vsyscall
    if (kind == 9) return 0xfec00000 + (r & 0x3fffff)               // interrupt controllers
    if (kind == 10) return 0xffff8880fec00000 + (r & 0x3fffff)      // the same in the direct map
    if (kind == 11) return (task_current() | 0xfff) - (r & 7)       // over the end of a page
    if (kind == 12) return -(r & 0xff)                              // the last bytes
    return 0x400000 + (r & 0xffffff)                                // a small program
}}
function try_all(count) {{
    while (count--) {{
        x = x * 6364136223846793005 + 1442695040888963407
        p = pointer(done++ % 14, x ^ (x >> 29))
        {tries}
    }}
}}
probe begin {{ try_all({third}) }}
probe timer.ms(1) {{ if (done < 2 * {third}) try_all(5) }}
probe kernel.function("vfs_read") {{
    if (done >= 2 * {third} && done < {count}) try_all(5)
    if (done >= {count}) exit()
}}
probe end {{
    printf("done=%d\\n", done)
    foreach (name+ in values) printf("%s values=%d\\n", name, values[name])
    foreach (name+ in faults) printf("%s faults=%d\\n", name, faults[name])
    foreach (text+ in other) printf("other %s=%d\\n", text, other[text])
}}
"""
# Strings are compared, numbers are added up: whatever it is, it is used.
TRY = """
        try {{ if (sprint({reader}) != "never this") values["{name}"]++ }}
        catch (m) {{ faults["{name}"]++ if (!isinstr(m, "fault")) other[substr(m, 0, 20)]++ }}
"""


def script(readers: list[str]) -> str:
    """Write the script that tries these readers."""
    tries = "".join(
        TRY.format(reader=reader, name=f"r{number:02}") for number, reader in enumerate(readers)
    )
    return SCRIPT.format(tries=tries, count=POINTERS, third=POINTERS // 3)


@pytest.mark.parametrize("group", GROUPS)
def test_bad_pointers(
    group: str, guest: Machine, release: str, tmp_path: Path, seed: int = 20240229
) -> None:
    readers = GROUPS[group]
    words = ("-DMAXACTION=10000000", "-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=10000000",
             "-g", "-e", script(readers), str(seed))  # fmt: skip
    modules = make(release, tmp_path, pointers=words)
    text = "$run -T 100 -c 'dd if=/dev/zero of=/dev/null bs=1 count=1000000' $pointers"
    lines, result = shell(guest, modules, text, 1200 if LONG else 110)
    errors = result.stderr.decode()
    assert "ERROR" not in errors, errors
    assert not result.left_modules
    found: dict[str, dict[str, int]] = {"values": {}, "faults": {}}
    for line in lines:
        name, _, rest = line.partition(" ")
        kind, _, number = rest.partition("=")
        if kind in found and name.startswith("r"):
            found[kind][name] = int(number)
    done = next((int(line[5:]) for line in lines if line.startswith("done=")), 0)
    assert done >= POINTERS, lines[-5:]
    if group != "tapsets":  # which have errors of their own
        assert not [line for line in lines if re.match("other (?!invalid UTF)", line)], lines
    print(f"\n{done} pointers for each of {len(readers)} readers ({group})")
    for number, reader in enumerate(readers):
        name = f"r{number:02}"
        values, faults = found["values"].get(name, 0), found["faults"].get(name, 0)
        print(f"{reader:55} {values:6} values {faults:6} faults")
        assert values + faults == done, f"{reader}: {values} values and {faults} faults of {done}"
        if (
            group == "plain"
            and reader.startswith("kernel_")
            and "2(" not in reader
            and "quot" not in reader
        ):
            # Ten of the fourteen kinds have hardly anything mapped.
            assert faults > done // 3, f"{reader}: only {faults} of {done} were faults"
