"""One kernel without its debug information: where it is, how it was configured, its exports."""

from stapy.kernel.target import Kernel, find_kernel, installed_releases, unknown_kernel

__all__ = ["Kernel", "find_kernel", "installed_releases", "unknown_kernel"]
