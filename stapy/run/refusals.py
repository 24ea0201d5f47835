"""Why the kernel refuses a module, in words that say what can be done about it."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional

_SIGNED = (
    "sign it with a key that the kernel knows (stapy --sign-module makes one, mokutil enrols it), "
    "{off}, or run it in a virtual machine: stapy --vm"
)
_SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_BOOT_PARAMS_SECURE_BOOT = 0x1EC  # the place of this byte in the kernel's struct boot_params
_BAD_VALUE = "a value is not what its parameter takes"

_REASONS: Dict[int, str] = {
    errno.ENOEXEC: "the kernel does not accept this file: it was built for another kernel or "
    "configuration",
    errno.EBADMSG: "the module's signature is damaged",
    errno.ENOPKG: "the module's signature uses a method that this kernel does not know",
    errno.EEXIST: "a module of this name is loaded and in use",
    errno.ENOMEM: "not enough memory: make the buffers (-s) or the arrays (-DMAXMAPENTRIES) "
    "smaller",
    errno.ENOENT: "it needs a symbol that this kernel or its modules do not have",
    errno.EINVAL: "the kernel found something invalid in it, or in a name=value",
    errno.ERANGE: _BAD_VALUE + ": a number is too large",
    errno.ENOSPC: _BAD_VALUE + ": a text is too long",
    errno.EACCES: "a security policy of this machine (SELinux, AppArmor, IMA) forbids it",
    errno.ETXTBSY: "another program has the file open for writing",
    errno.ENOSYS: "the kernel is built without loadable modules (CONFIG_MODULES)",
    errno.EOPNOTSUPP: "the kernel does not load modules of this kind",
    errno.EFBIG: "the file is too large for the kernel",
    errno.EINTR: "a signal came while the kernel was loading it",
    errno.ENODEV: "its start found no device or feature that it needs",
}


def reason(code: int, signed: bool, root: str = "/") -> str:
    """Say what an errno of loading means on this machine; "" when nothing is known.

    ``signed``: whether the module carries a signature.
    """
    if code in (errno.ENOKEY, errno.EKEYREJECTED):
        return _key(signed, root)
    if code == errno.EPERM:
        return _not_permitted(signed, root)
    return _REASONS.get(code, "")


def unsigned(root: str = "/") -> str:
    """Say why the kernel will refuse a module without a signature, "" when it takes them.

    What keeps all modules out is left to the kernel to say.
    """
    if _read(root, "proc/sys/kernel/modules_disabled") == "1":
        return ""
    if _read(root, "sys/module/module/parameters/sig_enforce") == "Y":
        return _key(False, root)
    return _locked(False, root) if lockdown(root) else ""


def _key(signed: bool, root: str) -> str:
    """Say what the kernel did not like about the signature."""
    what = (
        "the module is signed with a key that the kernel does not know or has revoked"
        if signed
        else "the kernel takes signed modules only, and this one is not signed"
    )
    return f"{what}: {past_signatures(root)}"


def past_signatures(root: str = "/", is_built_in: Optional[bool] = None) -> str:
    """Say what can be done where the kernel takes signed modules only.

    ``is_built_in``: whether it was built to do so, by default what the running one's
    configuration says.
    """
    if _is_built_in(root) if is_built_in is None else is_built_in:
        off = "boot a kernel that is built without CONFIG_MODULE_SIG_FORCE"
        if lockdown(root):
            off += f" and {_unlocking(root)}"
        return _SIGNED.format(off=off)
    off = "switch secure boot off"
    forced = _read(root, "sys/module/module/parameters/sig_enforce") == "Y"
    # Secure boot forces signatures as well, and locks the kernel down.
    by_option = forced and ("sig_enforce" in _read(root, "proc/cmdline") or not lockdown(root))
    if by_option or secure_boot(root) is False:
        off = "switch module.sig_enforce off where the machine boots"
    return _SIGNED.format(off=off)


def _is_built_in(root: str) -> bool:
    """Tell whether no option can have the running kernel take unsigned modules."""
    release = _read(root, "proc/sys/kernel/osrelease")
    files = (f"boot/config-{release}", f"lib/modules/{release}/config", "proc/config.gz")
    for name in files:
        text = _bytes(root, name, 1 << 22)
        if name.endswith(".gz") and text:
            try:
                import zlib

                text = zlib.decompress(text, 31)
            except Exception:  # a Python without zlib, or no whole file
                continue
        if text:
            return b"CONFIG_MODULE_SIG_FORCE=y" in text.split(b"\n")
    return False


def past_lockdown(root: str = "/") -> str:
    """Say what can be done where the kernel is locked down, by what may have done it."""
    return _SIGNED.format(off=_unlocking(root))


def _unlocking(root: str) -> str:
    secure = secure_boot(root)
    is_option = any(word.startswith("lockdown=") for word in _read(root, "proc/cmdline").split())
    what = ["secure boot"] if secure else []
    what += ["lockdown="] if is_option else []
    if secure is None and not is_option:
        what = ["secure boot (or lockdown=)"]
    if what:
        return f"switch {' and '.join(what)} off where the machine boots"
    return "boot the machine without whatever writes to /sys/kernel/security/lockdown"


def secure_boot(root: str = "/") -> Optional[bool]:
    """Tell whether Secure Boot is on; None where that cannot be told."""
    told = _bytes(root, _SECURE_BOOT)
    if len(told) == 5:  # four bytes of attributes before its own
        return told[4] == 1
    told = _bytes(root, "sys/kernel/boot_params/data")[_BOOT_PARAMS_SECURE_BOOT:][:1]
    if told in (b"\2", b"\3"):  # as the kernel's start found it, whatever is mounted: x86 only
        return told == b"\3"
    try:
        names = os.listdir(os.path.join(root, "sys/firmware"))
    except OSError:
        return None
    # A container may have an empty folder over it.
    return False if names and "efi" not in names else None


def _not_permitted(signed: bool, root: str) -> str:
    """Say what stands in the way of a process, with the capability or without."""
    if not may_load(root):
        return missing_capability()
    if _read(root, "proc/sys/kernel/modules_disabled") == "1":
        return (
            "loading modules is switched off until the next boot (kernel.modules_disabled is 1); "
            "a virtual machine can do it: stapy --vm"
        )
    if lockdown(root):
        return _locked(signed, root)
    return (
        "a security policy of this machine forbids it (LoadPin, seccomp or another security "
        "module), though this process may load modules"
    )


def _locked(signed: bool, root: str) -> str:
    what = "signed with a key that it does not know" if signed else "not signed"
    return (
        f"the kernel is locked down ({lockdown(root)}) and this module is {what}: "
        f"{past_lockdown(root)}"
    )


def renamed(name: str, by_option: bool) -> str:
    """Say why a signed module is refused that was to be loaded under another name.

    ``by_option``: because -R asks for one, whatever is running.
    """
    if by_option:
        return (
            f"-R gives {name} another name, under which its signature is worth nothing to a kernel "
            "that wants one: leave -R out, or make it again with -m OTHERNAME --sign-module"
        )
    return (
        f"a session of {name} is running, and under another name its signature is worth nothing "
        "to a kernel that wants one: make it again with -m OTHERNAME --sign-module"
    )


def missing_capability() -> str:
    """Say what a process without CAP_SYS_MODULE can do."""
    if os.geteuid() == 0:
        return (
            "this is root without the right to load modules (CAP_SYS_MODULE), as in a container: "
            "run it outside"
        )
    from .groups import look_up

    who = look_up(os.getuid())
    told = who.refusal() if who else ""
    return told or "only root (or CAP_SYS_MODULE) can load a module: try sudo"


def may_load(root: str = "/") -> bool:
    """Tell whether this process has CAP_SYS_MODULE."""
    for line in _read(root, "proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            try:
                return bool(int(line.split()[1], 16) >> 16 & 1)
            except (ValueError, IndexError):
                break
    return os.geteuid() == 0


def no_modules(root: str = "/") -> str:
    """Say why the kernel loads no module at all; "" when it may, or nothing is known of it."""
    if _read(root, "proc/sys/kernel/modules_disabled") == "1":
        return "this kernel loads no more modules until its next boot (modules_disabled is 1)"
    proc = os.path.join(root, "proc")
    if os.path.exists(f"{proc}/version") and not os.path.exists(f"{proc}/modules"):
        return _REASONS[errno.ENOSYS].replace("the", "this", 1)
    return ""


def lockdown(root: str = "/") -> str:
    """Read the level at which the kernel is locked down, "" when it is not."""
    text = _read(root, "sys/kernel/security/lockdown")
    level = text.partition("[")[2].partition("]")[0]
    return "" if level == "none" else level


def arming(code: int, root: str = "/") -> str:
    """Say why a session could not start its probes, "" when nothing is known."""
    if code == errno.EPERM and lockdown(root):
        return f"the kernel is locked down ({lockdown(root)}): it takes no probes of this kind"
    return ""


def from_log(lines: List[str], name: str) -> List[str]:
    """Select what the kernel said about loading this module, at most three lines.

    Of signatures it speaks without a name.
    """
    words = (name, "Loading of ", "Lockdown: ")
    return [line for line in lines if any(word in line for word in words)][-3:]


def _read(root: str, name: str) -> str:
    return _bytes(root, name).decode("utf-8", "replace").strip()


def _bytes(root: str, name: str, most: int = 1 << 16) -> bytes:
    try:
        with open(os.path.join(root, name), "rb") as file:
            return file.read(most)
    except OSError:
        return b""
