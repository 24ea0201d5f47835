"""Files that ``@var`` and ``@cast`` name, and what to say of one that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.user import search
from stapy.debuginfo.user.file import UserFileError
from stapy.diagnostics.suggest import did_you_mean
from stapy.paths import is_file

if TYPE_CHECKING:
    from stapy.elaborate.lower.context import Context


def unfit(low: Context, path: str) -> str:
    """Say why nothing is known of a program or library; "" for one that can be read."""
    try:
        low.services.debuginfo.programs.open(path)
    except UserFileError as error:
        return view.without_root(str(error))
    return ""


def no_module(low: Context, name: str) -> tuple[list[str], str]:
    """Tell of a name that neither a module nor a program nor a library has: notes and a hint."""
    is_library = ".so" in name
    notes = [f"this kernel has no module '{name}', and no program or library has this name"]
    if is_library:
        notes.append(f"libraries are looked for in {search.library_places()}")
    if view.is_ours() and is_file(name):
        return notes, f"'./{name}' is the one of this folder"
    known = search.library_names() if is_library else [
        *low.services.debuginfo.module_names(), *search.commands()]  # fmt: skip
    meant = [row for row in search.library_names() if row.startswith(name + ".so")]
    return notes, f"did you mean '{min(meant, key=len)}'?" if meant else did_you_mean(name, known)


def problems(low: Context, modules: list[str]) -> tuple[list[str], str]:
    """Tell of the files among those that a cast names that cannot be read: notes and a hint."""
    notes: list[str] = []
    hint = ""
    for name in modules:
        more: list[str] = []
        near = ""
        if name.startswith("/"):
            why = unfit(low, name)
            more, near = ([why], search.near_path(name)) if why else ([], "")
        elif name in ("kernel", "vmlinux") or set('<"') & set(name):
            continue
        elif not low.services.debuginfo.module_names(name):
            more, near = no_module(low, name)
        notes += more
        hint = hint or near
    return notes, hint
