"""What make is told for a compiler of another architecture, by what the headers say themselves."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from stapy.arch import architecture
from stapy.build.cross import CrossTools

if TYPE_CHECKING:
    from pathlib import Path

OVERRIDES = """\
override ARCH = arm64
CCACHE = ccache
CC = $(if $(DEBIAN_KERNEL_USE_CCACHE),$(CCACHE)) $(CROSS_COMPILE)gcc-12
override CROSS_COMPILE = aarch64-linux-gnu-
override CROSS_COMPILE_COMPAT = arm-linux-gnueabihf-
"""
CONDITIONAL = OVERRIDES.replace("= aarch64-linux-gnu-", "= $(DEB_HOST_GNU_TYPE)-")
COMPAT_ONLY = OVERRIDES.replace("override CROSS_COMPILE =", "# ")
# As the kernel's Makefile does it: what stands there first is replaced by Debian's.
MAKEFILE = """\
CC = $(CROSS_COMPILE)gcc
LD = $(CROSS_COMPILE)ld
STRIP = $(CROSS_COMPILE)strip
-include .kernelvariables
all: ; @echo $(CC) $(LD) $(STRIP)
"""


def words(folder: Path, text: str | None, prefix: str) -> tuple[str, ...]:
    machine = architecture("arm64")
    assert machine is not None
    if text is not None:
        (folder / ".kernelvariables").write_text(text)
    return CrossTools(machine, prefix, folder).make_words


@pytest.mark.parametrize(
    ("text", "prefix", "compiler"),
    [
        (OVERRIDES, "mine-", "mine-gcc-12"),
        (OVERRIDES.replace("gcc-12", "clang"), "mine-", "mine-clang"),
        ("override CROSS_COMPILE := aarch64-linux-gnu-\n", "mine-", "mine-gcc"),
        (OVERRIDES, "aarch64-linux-gnu-", ""),
        (OVERRIDES, "", ""),
        (CONDITIONAL, "mine-", ""),
        (COMPAT_ONLY, "mine-", ""),
        (None, "mine-", ""),
    ],
)
def test_programs_are_named_where_the_headers_override(
    text: str | None, prefix: str, compiler: str, tmp_path: Path
) -> None:
    named = [word for word in words(tmp_path, text, prefix) if word.startswith("CC=")]
    assert named == ([f"CC={compiler}"] if compiler else [])


@pytest.mark.parametrize("text", [OVERRIDES, COMPAT_ONLY, None])
def test_make_takes_them(text: str | None, tmp_path: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    command = ["make", "-s", *words(tmp_path, text, "mine-")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"mine-gcc{'-12' if text else ''}", "mine-ld", "mine-strip"]
