"""What a person reads when the kernel refuses a module, for each errno and state of the machine."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path

import pytest

from stapy.run import refusals

ROOT = "proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n"
NO_CAP = "proc/self/status", "CapEff:\t00000000a80425fb\n"
LOCKED = "sys/kernel/security/lockdown", "none [integrity] confidentiality\n"
OPEN = "sys/kernel/security/lockdown", "[none] integrity confidentiality\n"
OFF = "proc/sys/kernel/modules_disabled", "1\n"
BOOTED = "proc/cmdline", "quiet module.sig_enforce=1\n"
FORCED = "sys/module/module/parameters/sig_enforce", "Y\n"


@pytest.mark.parametrize(
    ("code", "signed", "files", "told", "never"),
    [
        (errno.EPERM, False, [ROOT, LOCKED], ["locked down (integrity)", "mokutil"], "root"),
        (errno.EPERM, True, [ROOT, LOCKED], ["a key that it does not know"], "root"),
        (errno.EPERM, False, [ROOT, OFF, LOCKED], ["modules_disabled is 1", "--vm"], "mokutil"),
        (errno.EPERM, False, [ROOT, OPEN], ["security policy"], "mokutil"),
        (errno.EPERM, False, [NO_CAP, LOCKED], ["CAP_SYS_MODULE"], "mokutil"),
        (errno.EKEYREJECTED, False, [FORCED], ["not signed", "mokutil", "sig_enforce"], "root"),
        (errno.EKEYREJECTED, False, [], ["not signed", "secure boot"], "root"),
        (errno.EKEYREJECTED, True, [FORCED], ["does not know or has revoked"], "root"),
        (errno.EKEYREJECTED, False, [FORCED, LOCKED], ["not signed", "secure boot off"], "root"),
        (
            errno.EKEYREJECTED,
            False,
            [FORCED, LOCKED, BOOTED],
            ["switch module.sig_enforce"],
            "root",
        ),
        (errno.ENOKEY, False, [FORCED], ["not signed"], "root"),
        (errno.ENOKEY, True, [FORCED], ["a key that the kernel does not know"], "root"),
        (errno.ENOSPC, False, [], ["a text is too long"], "mokutil"),
        (errno.ERANGE, False, [], ["a number is too large"], "mokutil"),
        (errno.EACCES, False, [], ["SELinux"], "mokutil"),
    ],
)
def test_reasons(
    code: int,
    signed: bool,
    files: list[tuple[str, str]],
    told: list[str],
    never: str,
    tmp_path: Path,
) -> None:
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    reason = refusals.reason(code, signed, str(tmp_path))
    assert all(word in reason for word in told), reason
    words = reason.replace("without the right", "").split()
    if "CAP_SYS_MODULE" not in told:
        assert never not in words, reason


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([FORCED, LOCKED], "takes signed modules only"),
        ([LOCKED], "locked down (integrity) and this module is not signed: "),
        ([OPEN, (FORCED[0], "N\n")], ""),
        ([OFF, FORCED, LOCKED], ""),
        ([], ""),
    ],
)
def test_a_module_without_signature(
    files: list[tuple[str, str]], told: str, tmp_path: Path
) -> None:
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = refusals.unsigned(str(tmp_path))
    assert told in found
    assert bool(told) == bool(found)


VARIABLE = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
PARAMETERS = "sys/kernel/boot_params/data"
ON, OFF_THERE = (VARIABLE, "\6\0\0\0\1"), (VARIABLE, "\6\0\0\0\0")
STARTED_ON, STARTED_OFF = (
    (PARAMETERS, "\0" * 0x1EC + state + "\0" * 0xE13) for state in ("\3", "\2")
)
NO_EFI = "sys/firmware/acpi/pm_profile", "1\n"
BY_OPTION = "proc/cmdline", "quiet lockdown=confidentiality\n"
LEVEL = "/sys/kernel/security/lockdown"


@pytest.mark.parametrize(
    ("files", "lockdown", "signatures"),
    [
        ([LOCKED, FORCED], "switch secure boot (or lockdown=) off", "secure boot"),
        ([LOCKED, FORCED, ON], "switch secure boot off", "secure boot"),
        ([LOCKED, FORCED, STARTED_ON], "switch secure boot off", "secure boot"),
        ([LOCKED, FORCED, STARTED_ON, BY_OPTION], "switch secure boot and lockdown=", "secure"),
        (
            [LOCKED, FORCED, NO_EFI],
            f"boot the machine without whatever writes to {LEVEL}",
            "sig_enforce",
        ),
        ([LOCKED, FORCED, OFF_THERE], f"without whatever writes to {LEVEL}", "sig_enforce"),
        ([LOCKED, FORCED, STARTED_OFF], f"without whatever writes to {LEVEL}", "sig_enforce"),
        ([LOCKED, FORCED, OFF_THERE, STARTED_ON], f"writes to {LEVEL}", "sig_enforce"),
        ([LOCKED, NO_EFI, BY_OPTION], "switch lockdown= off", "sig_enforce"),
        ([LOCKED, BY_OPTION], "switch lockdown= off", "secure boot"),
    ],
)
def test_secure_boot_is_named_where_it_may_be_on(
    files: list[tuple[str, str]], lockdown: str, signatures: str, tmp_path: Path
) -> None:
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for told, wanted in (
        (refusals.past_lockdown(str(tmp_path)), lockdown),
        (refusals.past_signatures(str(tmp_path)), signatures),
    ):
        assert wanted in told
        assert ("secure boot" in told) == ("secure" in wanted)


RELEASE = "proc/sys/kernel/osrelease", "6.9-x\n"
# Longer than what is read of other files.
CONFIG = "CONFIG_X=y\n" * 9000 + "CONFIG_MODULE_SIG_FORCE={}\n"
BUILT_SO, BUILT_OTHERWISE = ((RELEASE, ("boot/config-6.9-x", CONFIG.format(x))) for x in "yn")
ZIPPED = "proc/config.gz", gzip.compress(CONFIG.format("y").encode())
ANOTHER = "boot a kernel that is built without CONFIG_MODULE_SIG_FORCE"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([FORCED, *BUILT_SO], f", {ANOTHER}, or"),
        ([FORCED, ZIPPED], f", {ANOTHER}, or"),
        ([FORCED, *BUILT_SO, LOCKED, ON], f"{ANOTHER} and switch secure boot off where"),
        ([FORCED, *BUILT_OTHERWISE], "switch module.sig_enforce off"),
        ([FORCED, RELEASE, ("proc/config.gz", "broken")], "switch module.sig_enforce off"),
    ],
)
def test_what_the_kernel_was_built_to_want(
    files: list[tuple[str, str | bytes]], told: str, tmp_path: Path
) -> None:
    """No option of its start takes it back."""
    for name, text in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = refusals.reason(errno.EKEYREJECTED, False, str(tmp_path))
    assert told in found
    assert ("switch module.sig_enforce" in found) == ("switch module.sig_enforce" in told)


def test_the_kernels_own_words_are_shown() -> None:
    said = [
        "other: loading out-of-tree module taints kernel.",
        "Loading of unsigned module is rejected",
        "Lockdown: python3: unsigned module loading is restricted; see man kernel_lockdown.7",
        "one: Unknown symbol nosuch (err -2)",
    ]
    assert refusals.from_log(said, "one") == said[1:]


def test_probes_of_a_locked_down_kernel(tmp_path: Path) -> None:
    (tmp_path / "sys/kernel/security").mkdir(parents=True)
    (tmp_path / LOCKED[0]).write_text("none integrity [confidentiality]\n")
    assert "locked down (confidentiality)" in refusals.arming(errno.EPERM, str(tmp_path))
    assert not refusals.arming(errno.ENOENT, str(tmp_path))
