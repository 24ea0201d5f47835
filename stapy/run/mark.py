"""Which modules in the kernel are ours: nothing else is ever removed, opened or replaced.

A module of stapy says what its session does in a parameter of its own,
``stapy_state``, and has a folder ``/proc/stapy_NAME``.  The kernel shows the
parameter under the name of the module that it belongs to, so that no other
module, whatever it is called, can have it by accident.
"""

from __future__ import annotations

import os

SYSFS = "/sys/module"
NOBODY = (1 << 32) - 1  # runtime/session.c
_STATES = ("loaded", "running", "stopped")


def is_loaded(name: str, folder: str = SYSFS) -> bool:
    """Tell whether the kernel has something of this name: a module, or a part of its own."""
    return is_name(name) and os.path.isdir(f"{folder}/{name}")


def state_of(name: str, folder: str = SYSFS) -> str:
    """Read what a module of ours says of its session: "loaded", "running", "stopped"; else ""."""
    if not is_name(name):
        return ""
    try:
        with open(f"{folder}/{name}/parameters/stapy_state", encoding="ascii") as file:
            state = file.read(64).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return state if state in _STATES else ""


def is_ours(name: str, folder: str = SYSFS, proc: str = "/proc") -> bool:
    """Tell whether the module of this name in the kernel was made by stapy."""
    return bool(state_of(name, folder)) and os.path.isdir(f"{proc}/stapy_{name}")


def user_of(name: str, folder: str = SYSFS) -> int:
    """Read for whom a module of ours was loaded: a user's number, -1 for root or none of ours."""
    if not is_name(name):
        return -1
    try:
        with open(f"{folder}/{name}/parameters/stapy_user", encoding="ascii") as file:
            uid = int(file.read(64))
    except (OSError, ValueError):
        return -1
    return uid if uid < NOBODY else -1


def is_going(name: str, folder: str = SYSFS) -> bool:
    """Tell whether the kernel is about to load or to unload a module of this name."""
    try:
        with open(f"{folder}/{name}/initstate", encoding="ascii") as file:
            return file.read(64).strip() in ("coming", "going")
    except (OSError, UnicodeDecodeError):
        return False


def is_foreign(name: str, folder: str = SYSFS, proc: str = "/proc") -> bool:
    """Tell whether the kernel has something of this name that is not ours.

    A module of ours may come or go between two questions, and then has no mark for one of them:
    what is neither coming nor going, before and after it was looked for, had its chance to show it.
    """
    if is_going(name, folder) or is_ours(name, folder, proc) or is_going(name, folder):
        return False
    return is_loaded(name, folder)


def is_built_in(name: str, folder: str = SYSFS) -> bool:
    """Tell whether the kernel shows parameters of its own under a name."""
    return is_loaded(name, folder) and not os.path.exists(f"{folder}/{name}/initstate")


def is_name(text: str) -> bool:
    """Tell whether a text can name a module: no folder above or below ``/sys/module``."""
    return bool(text) and text.strip(".") != "" and "/" not in text and "\0" not in text


def refusal(name: str, folder: str = SYSFS, proc: str = "/proc") -> str:
    """Say why our module cannot have this name; "" when it can, or when one of ours has it."""
    if not is_foreign(name, folder, proc):
        return ""
    what = (
        "the kernel itself has a part of this name"
        if is_built_in(name, folder)
        else "another module of this name is loaded, which stapy did not make"
    )
    return f"module '{name}' cannot be loaded: {what}; take another name (stapy -m NAME)"


def foreign(name: str) -> str:
    """Write the complaint about a module that is not ours and that we shall remove or attach to."""
    return f"module '{name}' is not one that stapy made: it is left alone"
