"""The loadable modules that belong to a kernel, and which of them are loaded."""

from __future__ import annotations

import re
from pathlib import Path

from stapy.paths import is_dir

_SUFFIX = re.compile(r"\.ko(?:\.(?:xz|zst|gz))?$")


def module_name(file_name: str) -> str:
    """Turn a file's name into the kernel's: ``nf-tables.ko.xz`` gives ``nf_tables``."""
    return _SUFFIX.sub("", file_name.rpartition("/")[2]).replace("-", "_")


class Modules:
    """Name -> file, read from ``modules.dep`` (or from the folder) on first use."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, Path] | None = None

    def files(self) -> dict[str, Path]:
        """Map the names of all modules of this kernel to their files."""
        if self._files is None:
            self._files = {}
            if self._folder is not None:
                self._files = self._from_dep(self._folder) or self._from_folder(self._folder)
        return self._files

    @staticmethod
    def _from_dep(folder: Path) -> dict[str, Path]:
        try:
            text = (folder / "modules.dep").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return {}
        names = re.findall(r"^([^:\n]+):", text, re.M)
        return {module_name(name): folder / name for name in names}

    @staticmethod
    def _from_folder(folder: Path) -> dict[str, Path]:
        if not is_dir(folder):
            return {}
        return {module_name(path.name): path for path in sorted(folder.rglob("*.ko*"))}

    def path(self, name: str) -> Path | None:
        """Find a module's file, None without one; ``-`` and ``_`` are one letter here."""
        return self.files().get(name.replace("-", "_"))

    def builtin(self) -> set[str]:
        """Read the names of what could be a module, but is part of this kernel."""
        try:
            path = (self._folder or Path("/nowhere")) / "modules.builtin"
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return set()
        return {module_name(line) for line in text.split()}


def loaded_modules() -> list[str]:
    """List the modules that the running kernel has loaded."""
    try:
        text = Path("/proc/modules").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line.split(" ", 1)[0] for line in text.splitlines()]
