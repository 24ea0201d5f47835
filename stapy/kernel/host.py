"""Can this machine load our modules into its own kernel?  If not: every reason, in words."""

from __future__ import annotations

import os
from pathlib import Path

from stapy.kernel.release import install_command
from stapy.kernel.target import Kernel

_CAP_SYS_MODULE = 16


class Host:
    """The files that tell; tests give another ``root``."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def _read(self, name: str) -> str | None:
        try:
            return (self._root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def obstacles(self, kernel: Kernel) -> list[str]:
        """Why a module for ``kernel`` cannot be loaded here; empty when nothing is in the way."""
        checks = (
            self._other_kernel(kernel),
            self._privilege(),
            self._switched_off(kernel),
            self._lockdown(),
            self._signatures(kernel),
            self._kprobes(kernel),
            self._headers(kernel),
        )
        return [reason for reason in checks if reason]

    @staticmethod
    def _other_kernel(kernel: Kernel) -> str:
        if kernel.running:
            return ""
        return f"kernel {os.uname().release} is running, not {kernel.release}"

    def _privilege(self) -> str:
        status = self._read("proc/self/status") or ""
        for line in status.splitlines():
            if line.startswith("CapEff:"):
                if int(line.split()[1], 16) >> _CAP_SYS_MODULE & 1:
                    return ""
                return "only root (CAP_SYS_MODULE) may load modules"
        return "" if os.geteuid() == 0 else "only root may load modules"

    def _switched_off(self, kernel: Kernel) -> str:
        value = self._read("proc/sys/kernel/modules_disabled")
        if value is not None:
            if value.strip() == "1":
                return "/proc/sys/kernel/modules_disabled is 1, until the next boot"
            return ""
        if self._read("proc/modules") is None or _unset(kernel, "CONFIG_MODULES"):
            return "its kernel is built without loadable modules (CONFIG_MODULES)"
        return ""

    def _lockdown(self) -> str:
        text = self._read("sys/kernel/security/lockdown") or ""
        level = text.partition("[")[2].partition("]")[0]
        if level in ("", "none"):
            return ""
        return f"the kernel is locked down ({level}): only signed modules, and no kprobes"

    def _signatures(self, kernel: Kernel) -> str:
        forced = self._read("sys/module/module/parameters/sig_enforce") or ""
        if forced.strip() == "Y" or kernel.config.get("CONFIG_MODULE_SIG_FORCE") == "y":
            return "the kernel takes only signed modules (module.sig_enforce)"
        return ""

    def _kprobes(self, kernel: Kernel) -> str:
        text = self._read("proc/kallsyms") or ""
        known = kernel.config.known
        if " register_kprobe\n" in text or (not text and not known):
            return ""
        if _unset(kernel, "CONFIG_KPROBES") or (text and not known):
            return "its kernel is built without kprobes (CONFIG_KPROBES)"
        return ""

    @staticmethod
    def _headers(kernel: Kernel) -> str:
        if kernel.build_dir is not None:
            return ""
        command = install_command("headers", kernel.release)
        hint = f" ({command})" if command else ""
        return f"the headers of kernel {kernel.release} are not installed{hint}"


def _unset(kernel: Kernel, option: str) -> bool:
    return kernel.config.known and not kernel.config.enabled(option)


def obstacles(kernel: Kernel) -> list[str]:
    """The reasons on this machine, for "this host cannot load modules: …"."""
    return Host().obstacles(kernel)
