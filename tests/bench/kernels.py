"""The kernels that figures can be made for."""

from __future__ import annotations

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel, installed_releases
from stapy.kernel.target import Kernel


def kernels() -> list[Kernel]:
    """List the kernels whose headers are installed."""
    found = [find_kernel(name, Diagnostics(SourceMap())) for name in installed_releases()]
    return [kernel for kernel in found if kernel.build_dir is not None]


def line(kernel: Kernel) -> str:
    """Return how a row names a kernel: 6.1."""
    return ".".join(str(number) for number in kernel.version[:2])
