"""Source lines at run time, of the kernel and of modules, with the debug package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import build, check_kernel, run_built

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = r"""
probe kernel.function("vfs_read") {
    printf("%s|%s|%s\n", symfile(addr()), symline(addr()), symfileline(addr()))
    printf("%s %d\n", symfileline(12345), symfileline(stack(1)) =~ "^fs/read_write.c:[0-9]+$")
    print_backtrace_fileline()
}
probe module("vsock").function("vsock_connect").return { print_backtrace_fileline() }
probe kernel.trace("vsock:virtio_transport_alloc_pkt") { print_backtrace_fileline() }
"""
LOAD = (
    "sh -c 'modprobe vsock_loopback; python3 -c \"import socket; "
    'socket.socket(40, 1).connect((1, 1234))" 2>/dev/null; '
    "sleep 0.3; rmmod vsock_loopback vmw_vsock_virtio_transport_common vsock'"
)
FRAME = r" 0x[0-9a-f]{16} : %s\+0x[0-9a-f]+/0x[0-9a-f]+ at %s:[0-9]+ \[%s\]"
EXPECTED = [
    r"^fs/read_write\.c\|(\d+)\|fs/read_write\.c:\1$",
    r"^0x3039 1$",
    "^" + FRAME % ("vfs_read", r"fs/read_write\.c", "kernel"),
    "^" + FRAME % ("ksys_read", r"fs/read_write\.c", "kernel"),
    "^" + FRAME % (r"virtio_\w+", r"net/vmw_vsock/virtio_transport_common\.c", r"\w+"),
    "^" + FRAME % ("vsock_connect", r"net/vmw_vsock/af_vsock\.c", "vsock"),
    "^Returning from: " + FRAME % ("vsock_connect", r"net/vmw_vsock/af_vsock\.c", "vsock"),
    "^Returning to  : " + FRAME % ("__sys_connect", r"net/socket\.c", "kernel"),
]


def test_lines(guest: Machine, package: None, tmp_path: Path) -> None:
    words = ["-c", LOAD, "-d", "vmw_vsock_virtio_transport_common", "-e", SCRIPT]
    words += ["-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=100000"]  # a busy host makes guests slow
    built = build(guest.release, words, tmp_path)
    assert built.module, built.stderr
    # A kernel's table is some MB: it must not be there for nothing.
    assert 3_000_000 < built.module.stat().st_size < 8_000_000
    result = run_built(guest, built, words, 60)
    check_kernel(result)
    at = 0
    for pattern in EXPECTED:
        found = re.compile(pattern, re.M).search(result.stdout, at)
        assert found, (pattern, result.stdout[:8000], result.stderr)
        at = found.end()
