"""What is in the kernel and what shall be: loading, replacing and removing modules of ours."""

from __future__ import annotations

import os
import time

from . import kernel, mark, picture
from .control import Channel, folder_of
from .elf import ModuleFile
from .errors import GoneError, RunError
from .messages import MessagePrinter
from .naming import free_name, renamed
from .near import nearest
from .options import RunOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Tuple


# What a module tells, and what it is told by `keeper` alone.
_NOT_THE_USERS = {"stapy_state", "stapy_user", "stapy_level", "stapy_member_level"}


def refuse_foreign(name: str) -> None:
    """Refuse the name of a loaded module that is not ours: `RunError`."""
    refusal = mark.refusal(name)
    if refusal:
        raise RunError(refusal)


def _anybodys(name: str) -> bool:
    return True


def insert(
    module: ModuleFile,
    words: List[str],
    messages: MessagePrinter,
    must_rename: bool = False,
    may_have: Callable[[str], bool] = _anybodys,
) -> str:
    """Load a module, under another name when a living session has its own; return the name.

    ``must_rename``: under another name in any case.  ``may_have`` tells which modules that were
    left over may be removed for it.
    """
    name, image = module.name, None
    if must_rename:
        name = free_name(name, os.getpid())
        image = renamed(module, name)
        messages.note(f"{module.name} is loaded as {name}")
        _load(module, words, messages, image, by_option=True)
        return name
    refuse_foreign(name)  # it may have come meanwhile
    if not _remove_stale(name, messages, may_have):
        name = free_name(name, os.getpid())
        image = renamed(module, name)
        messages.note(f"a session of {module.name} is there: this one is {name}")
    _load(module, words, messages, image)
    return name


def insert_and_open(
    module: ModuleFile,
    words: List[str],
    messages: MessagePrinter,
    must_rename: bool = False,
    may_have: Callable[[str], bool] = _anybodys,
) -> Tuple[str, Channel]:
    """Load a module and open its files, in our turn; return its name and the files."""
    for again in (True, False):
        name = insert(module, words, messages, must_rename, may_have)
        try:
            return name, Channel.open(folder_of(name))
        except GoneError:
            taken = not mark.is_loaded(name) or mark.is_going(name)
            kernel.remove(name)
            if not (again and taken):
                raise
            messages.note(f"{name} was removed by somebody else: it is loaded once more")
        except BaseException:
            kernel.remove(name)
            raise
    raise AssertionError


def _load(
    module: ModuleFile,
    words: List[str],
    messages: MessagePrinter,
    image: Optional[bytes],
    by_option: bool = False,
) -> None:
    if "SYSTEMTAP_SYNC" in os.environ:
        os.sync()  # in case the kernel does not survive it
    kernel.insert(module, words, image, by_option)
    messages.note(f"inserted {module.path}")


def _remove_stale(name: str, messages: MessagePrinter, may_have: Callable[[str], bool]) -> bool:
    """Remove what a killed consumer left behind; return False when a session has the name."""
    if not mark.is_loaded(name):
        return True
    if mark.is_ours(name):
        if mark.state_of(name) == "running" or not may_have(name):
            return False
        try:
            channel = Channel.open(folder_of(name))
            if not may_have(name):  # asked again, now that it cannot become another one
                channel.detach()
                return False
            channel.dismiss()  # or the kernel's helper takes the next one of this name away
            channel.close()
        except RunError:  # somebody has it open
            return False
    try:
        kernel.remove(name, 2.0)
    except RunError:
        return False
    messages.note(f"removed a module {name} that was left over")
    return True


def parameters(module: ModuleFile, options: RunOptions) -> List[str]:
    """List what the module is loaded with; `RunError` for a name that it does not know."""
    words = list(options.parameters)
    settable = sorted(set(module.parameters) - _NOT_THE_USERS)
    for parameter in words:
        name = parameter.partition("=")[0]
        if name not in settable:
            raise RunError(_not_settable(name, settable))
    if options.buffer_mb:
        if "stapy_buffer_mb" not in module.parameters:
            raise RunError("the size of this module's buffers is fixed: build it with -s")
        words.append(f"stapy_buffer_mb={options.buffer_mb}")
    if "tz_gmtoff" in module.parameters and not any(p.startswith("tz_") for p in words):
        # The kernel does not know the user's time zone; tz_ctime() asks for it.
        now = time.localtime()
        words += [f"tz_gmtoff={-now.tm_gmtoff}", f"tz_name={now.tm_zone}"]
    return words + picture.parameters(options, module.parameters)


def _not_settable(name: str, settable: List[str]) -> str:
    """Say that a script has no such global; the runtime's own parameters are none of them."""
    known = [one for one in settable if not one.startswith(("stapy_", "tz_"))]
    near = nearest(name, known)
    advice = (
        f"did you mean '{near}'?"
        if near
        else f"declare it with -G {name}=VALUE when the module is built"
    )
    return (
        f"the script has no global '{name}' that can be set "
        f"(it has: {', '.join(known) or 'none'}); {advice}"
    )


def delete(name: str, messages: MessagePrinter) -> int:
    """Unload one module of ours, or all; what is in use or not ours does not keep the rest."""
    names = kernel.our_modules() if name == "*" else [bare_name(name)]
    for one in names:
        try:
            kernel.remove(ours(one), 2.0)
        except RunError as error:
            messages.error(str(error))
    return 1 if messages.errors else 0


def ours(name: str) -> str:
    """Return the name of a loaded module if it is ours; `RunError` when it is not."""
    if not mark.is_loaded(name):
        raise RunError(f"module '{name}' is not loaded")
    if not mark.is_ours(name):
        raise RunError(mark.foreign(name))
    return name


def bare_name(name: str) -> str:
    """Cut the name out of a module's name or file."""
    name = name.rpartition("/")[2]
    return name[:-3] if name.endswith(".ko") else name
