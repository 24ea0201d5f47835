"""Tapsets of single programs: what lies in ``PATH/usr/bin`` of a folder is about ``/usr/bin``.

There ``process("tool")`` means the program of that folder, wherever ``$PATH`` leads.
"""

from __future__ import annotations

from stapy.parse import nodes as n

FOLDER = "PATH"
_BUILD_ID = 40


def folder_of(path: str, dirs: list[str]) -> str:
    """Return the folder of programs that a library file is about, "" for one that is elsewhere."""
    for folder in sorted(dirs, key=len, reverse=True):
        top = folder.rstrip("/") + "/"
        if path.startswith(top):
            parts = path[len(top) :].split("/")[:-1]
            if FOLDER in parts:
                return "".join(f"/{part}" for part in parts[parts.index(FOLDER) + 1 :]) or "/"
    return ""


def fill_in(script: n.Script, folder: str) -> None:
    """Put the folder in front of each program that the points of a file name without one."""
    for decl in script.decls:
        if isinstance(decl, (n.ProbeDecl, n.AliasDecl)):
            for point in decl.points:
                for component in point.components:
                    if component.name == "process" and isinstance(component.arg, n.String):
                        component.arg.value = _filled(component.arg.value, folder)


def _filled(name: str, folder: str) -> str:
    is_build_id = len(name) == _BUILD_ID and not set(name.lower()) - set("0123456789abcdef")
    if not name or "/" in name or is_build_id:
        return name
    return f"{folder.rstrip('/')}/{name}"
