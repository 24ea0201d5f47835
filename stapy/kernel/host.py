"""Can this machine load our modules into its own kernel?  If not: every reason, in words."""

from __future__ import annotations

import os
from pathlib import Path

from stapy.kernel.offers import way_to
from stapy.kernel.roots import is_build_tree
from stapy.kernel.target import Kernel

_CAP_SYS_MODULE = 16


class HostFiles:
    """The files that tell; tests give another ``root``."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def _read(self, name: str) -> str | None:
        try:
            return (self._root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def obstacles(
        self, kernel: Kernel, signer: str | None = None, by_sudo: bool = False
    ) -> list[str]:
        """List why a module for ``kernel`` cannot be loaded here; empty when it can.

        ``signer`` is the number of the key that signs it, None when it will not be signed.
        ``by_sudo``: somebody else than this process loads it.
        """
        without = self.without_modules(kernel)
        if without:
            return [without]  # nothing else is in the way of what cannot be
        verdicts = self.verdicts(kernel)
        if by_sudo:
            verdicts["privilege"] = ""
        if signer is not None and self.takes_signed(signer):
            verdicts["lockdown"] = verdicts["signing"] = ""
        return [reason for reason in verdicts.values() if reason]

    def refusals(self, signer: str | None = None) -> list[str]:
        """List why the running kernel takes no module, as far as that is known without its files.

        ``signer`` is as for `obstacles`.
        """
        without = self.without_modules()
        if without:
            return [without]
        reasons = [self._switched_off()]
        if signer is None or not self.takes_signed(signer):
            reasons += self.demands()
        return [reason for reason in reasons if reason]

    def demands(self) -> list[str]:
        """List why the running kernel takes signed modules only; empty when it takes others."""
        return [reason for reason in (self._lockdown(), self._signatures()) if reason]

    def takes_signed(self, signer: str) -> bool:
        """Tell whether the kernel lists a key by this number, or does not let us look."""
        keys = [row for row in (self._read("proc/keys") or "").splitlines() if " asymmetri " in row]
        return not keys or any(f": {signer}: " in row for row in keys)

    def verdicts(self, kernel: Kernel) -> dict[str, str]:
        """Map each thing that loading depends on to why it is in the way, "" when it is not."""
        return {
            "kernel": self._other_kernel(kernel),
            "privilege": self._privilege(),
            "modules": self._switched_off(kernel),
            "lockdown": self._lockdown(),
            "signing": self._signatures(kernel),
            "kprobes": self._kprobes(kernel),
            "headers": self._headers(kernel),
        }

    @staticmethod
    def _other_kernel(kernel: Kernel) -> str:
        if kernel.is_running:
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

    def _switched_off(self, kernel: Kernel | None = None) -> str:
        value = self._read("proc/sys/kernel/modules_disabled")
        if value is not None:
            if value.strip() == "1":
                return "/proc/sys/kernel/modules_disabled is 1, until the next boot"
            return ""
        return self.without_modules(kernel)

    def without_modules(self, kernel: Kernel | None = None) -> str:
        """Say that the kernel cannot have modules; "" when it can."""
        if self._read("proc/sys/kernel/modules_disabled") is not None:
            return ""
        is_unset = kernel is not None and _is_unset(kernel, "CONFIG_MODULES")
        if self._read("proc/modules") is None or is_unset:
            return "its kernel is built without loadable modules (CONFIG_MODULES)"
        return ""

    def _lockdown(self) -> str:
        text = self._read("sys/kernel/security/lockdown") or ""
        level = text.partition("[")[2].partition("]")[0]
        if level in ("", "none"):
            return ""
        # In confidentiality as well, and those may set probes: what it keeps from programs
        # (kprobes by tracefs, kernel addresses to perf and BPF) it does not keep from its own code.
        return f"the kernel is locked down ({level}): it takes only signed modules"

    def _signatures(self, kernel: Kernel | None = None) -> str:
        forced = self._read("sys/module/module/parameters/sig_enforce") or ""
        if kernel is not None and kernel.config.get("CONFIG_MODULE_SIG_FORCE") == "y":
            return "the kernel takes only signed modules (CONFIG_MODULE_SIG_FORCE)"
        if forced.strip() == "Y":
            return "the kernel takes only signed modules (module.sig_enforce)"
        return ""

    def _kprobes(self, kernel: Kernel) -> str:
        if self._lacks(kernel, "register_kprobe", "CONFIG_KPROBES"):
            return "its kernel is built without kprobes (CONFIG_KPROBES)"
        return ""

    def without_uprobes(self, kernel: Kernel) -> str:
        """Say why programs cannot be probed; "" when they can.

        Other probes work all the same.
        """
        if self._lacks(kernel, "uprobe_register", "CONFIG_UPROBES"):
            return "the kernel is built without uprobes (CONFIG_UPROBES)"
        return ""

    def _lacks(self, kernel: Kernel, function: str, option: str) -> bool:
        """Tell whether the running kernel lacks a function and the configuration its option."""
        if kernel.config.is_enabled(option):
            return False  # the kernel takes a fifth of a second to write the list of its symbols
        text = (self._read("proc/kallsyms") or "") if kernel.is_running else ""
        known = kernel.config.is_known
        if f" {function}\n" in text or (not text and not known):
            return False
        return _is_unset(kernel, option) or (bool(text) and not known)

    @staticmethod
    def _headers(kernel: Kernel) -> str:
        if is_build_tree(kernel.build_dir):
            return ""
        way = way_to("headers", kernel.release)
        hint = f" ({way})" if way else ""
        return f"the headers of kernel {kernel.release} are not installed{hint}"


class FilesThere(HostFiles):
    """Those of another host, which has told what is in them."""

    # What `refusals` and `takes_signed` look at.
    NAMES = (
        "proc/modules",
        "proc/sys/kernel/modules_disabled",
        "sys/module/module/parameters/sig_enforce",
        "sys/kernel/security/lockdown",
        "proc/keys",
    )

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self._texts = texts

    def _read(self, name: str) -> str | None:
        return self._texts.get(name)


def _is_unset(kernel: Kernel, option: str) -> bool:
    return kernel.config.is_known and not kernel.config.is_enabled(option)
