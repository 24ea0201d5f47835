"""Programs that the tests of user programs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debuginfo.user.sources import LIBRARY, PROGRAM, built, compiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build ``program``, which needs ``libthing.so.1``, and ``plain`` without build-id."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "lib.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM.replace("int main", "int outside(int); int main"))
    words = ("-shared", "-fPIC", "-O1", str(folder / "lib.c"), "-Wl,-soname,libthing.so.1")
    built(folder / "libthing.so.1", *words)
    built(
        folder / "program",
        *("-O1", str(folder / "program.c"), "-Wl,--no-as-needed", str(folder / "libthing.so.1")),
        "-Wl,-rpath,$ORIGIN",
    )
    compiled(folder, PROGRAM, "-O1", "-Wl,--build-id=none", name="plain")
    (folder / "script").write_text(f"#!/usr/bin/env -S {folder}/program\n")
    (folder / "script").chmod(0o755)
    return folder
