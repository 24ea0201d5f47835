"""Where the module of a command is: found among those of before, kept, left under its name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import key_of, results
from stapy.trust import write_new

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.services import Services
    from stapy.session import Session
    from stapy.session.passes import Passes


def recall(session: Session, kernel: Kernel) -> Path | None:
    """Find the module of this command among those that were made before, say its warnings."""
    options = session.options
    tools = session.tools.identity if session.tools else ""
    session.key = results.key(options, session.texts, kernel, tools)
    # Who keeps the folder or looks at the passes wants to see all that is made.
    if options.keep or options.tmpdir is not None or options.trace_passes:
        return None
    found = results.find(session.cache, session.key, _form_key(session))
    if found is None:
        return None
    module, said = found
    session.say(said)
    return module


def remember(session: Session, module: Path, services: Services) -> None:
    """Keep the module with its warnings for the next command that asks for it."""
    if session.diagnostics.errors:
        return
    files = services.debuginfo.module_files()
    said = "".join(session.said)
    results.store(session.cache, session.key, module, said, files, _form_key(session))


def recall_list(session: Session, kernel: Kernel) -> str | None:
    """Find what -l printed for this command before, and say its warnings; None when it must ask."""
    session.key = results.list_key(session.options, session.texts, kernel)
    found = results.find_list(session.cache, key_of(session.key, _form_key(session)))
    if found is None:
        return None
    size, _, rest = found.partition("\n")
    session.say(rest[: int(size)])
    return rest[int(size) :]


def remember_list(session: Passes, text: str, services: Services) -> None:
    """Keep a list with its warnings for the next command that asks for it."""
    said = "".join(session.said)
    key = key_of(session.key, _form_key(session))
    files = services.debuginfo.module_files()
    results.store_list(session.cache, key, f"{len(said)}\n{said}{text}", files)


def keep(session: Session, module: Path) -> Path:
    """Leave NAME.ko of ``-m NAME`` in the current directory; return its path."""
    wanted = Path.cwd() / f"{session.options.module_name}.ko"
    # Others may write to this folder as well: no name that they could guess.
    temporary = wanted.with_name(f".{wanted.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        write_new(temporary, module.read_bytes())
        temporary.replace(wanted)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        session.refuse("E0490", f"cannot write '{wanted}': {error.strerror}")
    return wanted


def kept_copy(session: Session, module: Path) -> Path:
    """Return where the module will still be after this command."""
    if session.signer:
        name = key_of(session.key, session.signer.number) + ".ko"
        stored = session.cache.put_file("signed", name, module)
        return stored or _keep_unnamed(session, module, default_name(session))
    if session.folder and not session.options.keep and session.folder in module.parents:
        # --poison-cache keeps us from reading what was there, not from naming what we wrote.
        found = results.find(session.cache.filled(), session.key, _form_key(session))
        if found is not None:
            return found[0]
        return _keep_unnamed(session, module, module.stem)
    return module


def _form_key(session: Passes) -> str:
    """Name the form in which warnings were written that are kept with a module."""
    options = session.options
    return f"{options.message_format}-{max(options.verbose) > 0}"


def _keep_unnamed(session: Session, module: Path, name: str) -> Path:
    """Leave the module in the current directory under its own name, without a cache."""
    session.options.module_name = name
    return keep(session, module)


def default_name(session: Passes) -> str:
    """Name the module without -m: equal scripts get equal names, so that the cache can work."""
    return "stap_" + key_of(results.text_key(session.options, session.texts))[:32]
