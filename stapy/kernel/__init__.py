"""Facts on one kernel: where it is, how it was configured, what it exports."""

from stapy.kernel.target import Kernel, find_kernel, installed_releases

__all__ = ["Kernel", "find_kernel", "installed_releases"]
