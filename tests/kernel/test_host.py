from __future__ import annotations

from pathlib import Path

import pytest

from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.host import HostFiles
from stapy.kernel.modules import Modules
from stapy.kernel.target import Kernel

GOOD = {
    "proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
    "proc/sys/kernel/modules_disabled": "0\n",
    "proc/modules": "",
    "proc/kallsyms": "0 T register_kprobe\n",
    "sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
}


def make(
    folder: Path,
    changes: dict[str, str | None],
    *,
    config: str = "CONFIG_MODULES=y\nCONFIG_KPROBES=y\n",
    running: bool = True,
    headers: bool = True,
    signer: str | None = None,
) -> list[str]:
    for name, text in {**GOOD, **changes}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (folder / "config").write_text(config)
    (folder / "Makefile").write_text("")
    kernel = Kernel(
        "6.1-x",
        (6, 1),
        "x86_64",
        running,
        folder if headers else None,
        None,
        None,
        None,
        Config([folder / "config"]),
        Exports(None),
        Modules(None),
    )
    return HostFiles(folder).obstacles(kernel, signer)


def test_nothing_in_the_way(tmp_path: Path) -> None:
    assert make(tmp_path, {}) == []


def test_symbols_are_read_only_where_the_configuration_leaves_a_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = HostFiles._read

    def note(files: HostFiles, name: str) -> str | None:
        read.append(name)
        return real(files, name)

    monkeypatch.setattr(HostFiles, "_read", note)
    assert make(tmp_path, {}) == []
    assert read and "proc/kallsyms" not in read
    assert make(tmp_path, {}, config="CONFIG_MODULES=y\n") == []
    assert "proc/kallsyms" in read


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"proc/self/status": "CapEff:\t0000000000000000\n"}, "CAP_SYS_MODULE"),
        ({"proc/sys/kernel/modules_disabled": "1\n"}, "modules_disabled is 1"),
        (
            {"proc/sys/kernel/modules_disabled": None, "proc/modules": None},
            "without loadable modules",
        ),
        ({"sys/kernel/security/lockdown": "none [integrity] confidentiality"}, "(integrity)"),
        (
            {"sys/kernel/security/lockdown": "none integrity [confidentiality]"},
            "the kernel is locked down (confidentiality): it takes only signed modules",
        ),
        ({"sys/module/module/parameters/sig_enforce": "Y\n"}, "only signed modules"),
    ],
)
def test_one_obstacle(tmp_path: Path, changes: dict[str, str | None], words: str) -> None:
    (reason,) = make(tmp_path, changes)
    assert words in reason


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("CONFIG_MODULES=y\n", "CONFIG_KPROBES"),
        (
            "CONFIG_MODULES=y\nCONFIG_KPROBES=y\nCONFIG_MODULE_SIG_FORCE=y\n",
            "(CONFIG_MODULE_SIG_FORCE)",
        ),
    ],
)
def test_the_configuration_tells(tmp_path: Path, config: str, words: str) -> None:
    (reason,) = make(tmp_path, {"proc/kallsyms": "0 T other\n"}, config=config)
    assert words in reason


def test_without_modules_nothing_else_matters(tmp_path: Path) -> None:
    """Neither headers nor kprobes would help."""
    without: dict[str, str | None] = {
        "proc/sys/kernel/modules_disabled": None, "proc/modules": None,
        "proc/self/status": "CapEff:\t0000000000000000\n", "proc/kallsyms": "0 T other\n",
    }  # fmt: skip
    reasons = make(tmp_path, without, config="CONFIG_X=y\n", headers=False)
    assert reasons == ["its kernel is built without loadable modules (CONFIG_MODULES)"]
    # One that was told to take no more has them after the next boot.
    disabled: dict[str, str | None] = {"proc/sys/kernel/modules_disabled": "1\n"}
    assert len(make(tmp_path, disabled, headers=False)) == 2


def test_a_folder_without_a_makefile_is_no_headers(tmp_path: Path) -> None:
    make(tmp_path, {})
    kernel = Kernel(
        "6.1-x", (6, 1), "x86_64", True, tmp_path / "proc", None, None, None,
        Config([tmp_path / "config"]), Exports(None), Modules(None),
    )  # fmt: skip
    assert "headers of kernel 6.1-x are not installed" in HostFiles(tmp_path).obstacles(kernel)[0]


def test_another_kernel_and_no_headers(tmp_path: Path) -> None:
    reasons = make(tmp_path, {}, running=False, headers=False)
    assert "is running, not 6.1-x" in reasons[0]
    assert "headers of kernel 6.1-x are not installed" in reasons[1]


KEYS = """\
06feec8e I------     1 perm 1f0b0000     0     0 keyring   .builtin_trusted_keys: 1
3de28e3a I------     1 perm 1f030000     0     0 asymmetri Own: key: cf735cef: X509.rsa 52468e2 []
"""


@pytest.mark.parametrize(
    ("number", "keys", "is_taken"),
    [
        ("cf735cef", KEYS, True),
        ("735cef", KEYS, False),
        ("00aa", KEYS, False),
        ("00aa", None, True),
    ],
)
@pytest.mark.parametrize(
    "wants",
    [
        {"sys/kernel/security/lockdown": "none [integrity] confidentiality"},
        {"sys/module/module/parameters/sig_enforce": "Y\n"},
    ],
)
def test_a_signed_module(
    tmp_path: Path, wants: dict[str, str | None], number: str, keys: str | None, is_taken: bool
) -> None:
    assert bool(make(tmp_path, {**wants, "proc/keys": keys}, signer=number)) != is_taken
    assert make(tmp_path, {**wants, "proc/keys": keys})  # not signed
