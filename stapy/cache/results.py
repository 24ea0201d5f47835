"""Finding the module of a script that was translated before, ahead of pass 1; lists of -l too.

The key names everything that the module depends on: texts, options, kernel,
tapset files, and stapy's own files.  Files are named by path, size and time of
change, which costs about a millisecond for the whole library.  Kernel modules
that were asked about, which files the names of programs meant, and where debug
files were looked for, are known afterwards only: they stand in what is kept, and
one that has changed, come or gone since makes it worthless.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache.store import Cache, file_identity, files_below, key_of, own_state
from stapy.debuginfo import looked
from stapy.debuginfo.dwarf.files.paths import fingerprint
from stapy.options.table import RUN_ONLY
from stapy.paths import data_dir, package_dir

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options


_BYTES = "utf-8", "surrogateescape"  # a path is any bytes


def text_key(options: Options, texts: list[tuple[str, str]]) -> str:
    """Compute the key of the script and of those options that shape its module."""
    chosen = [
        (field, getattr(options, field)) for field in type(options).fields if field not in RUN_ONLY
    ]
    settable = sorted(options.globals)
    return key_of(repr(texts), repr(chosen), repr(settable), options.suppress_warnings)


def key(options: Options, texts: list[tuple[str, str]], kernel: Kernel, tools: str = "") -> str:
    """Compute the key of the module of this command, as hex SHA-256.

    It covers the texts, the options, the kernel, all that modules are made of, and ``tools``, the
    identity of the programs that make them.
    """
    runtime = Path(options.runtime_dir) if options.runtime_dir else data_dir("runtime")
    return _key(options, texts, kernel, [runtime, data_dir("templates")], tools)


def names_key(options: Options, kernel: Kernel) -> str:
    """Compute a key of what completion offers: of names, for which no C is read."""
    return _key(options, [], kernel, [], "")


def _key(
    options: Options, texts: list[tuple[str, str]], kernel: Kernel, made_of: list[Path], tools: str
) -> str:
    folders = [*made_of, data_dir("tapsets"), *(Path(folder) for folder in options.tapset_dirs)]
    extra = os.environ.get("XDG_DATA_DIRS", ""), os.environ.get("SYSTEMTAP_TAPSET", "")
    return key_of(
        text_key(options, texts),
        kernel.release,
        *fingerprint(kernel),
        *(_identity(path) for path in (kernel.image, kernel.build_dir) if path is not None),
        *extra,
        own_state(package_dir()),
        # In one piece: there are a thousand, and this is done for each key that a shell completes.
        repr([row for folder in folders for row in files_below(folder)]),
        *_target(texts, options),
        os.environ.get("STAPY_BUILD", ""),
        tools,
    )


def _target(texts: list[tuple[str, str]], options: Options) -> Iterator[str]:
    """Yield what decides which program ``process`` alone means, as strings for a key.

    Neither -c nor -x are options of a module otherwise. An alias of the user's library may say
    ``process`` as well.
    """
    if not options.tapset_dirs and not any("process" in text for _, text in texts):
        return
    from stapy.debuginfo.user import processes, search

    yield os.environ.get("LD_LIBRARY_PATH", "")
    if options.command is not None:
        yield search.of_command(options.command) or ""
    elif options.target:
        yield processes.of_process(options.target) or ""


def _identity(path: Path) -> str:
    try:
        return repr(file_identity(path))
    except OSError:
        return f"{path}: missing"


def find(cache: Cache, key: str, form: str = "") -> tuple[Path, str] | None:
    """Find the module's path and the warnings of its translation in one form of messages.

    Returns None when either of the two is not kept or depends on what has changed.
    """
    said = _opened(cache.get_bytes("said", key_of(key, form)))
    module = cache.get("result", key + ".ko") if said is not None else None
    if said is None or module is None:
        return None
    return module, said


def store(
    cache: Cache, key: str, module: Path, said: str, files: Iterable[Path], form: str = ""
) -> None:
    """Remember the module; the warnings come last, for `find` asks for them first.

    ``files`` are those of kernel modules that it depends on.
    """
    cache.put_file("result", key + ".ko", module)
    cache.put_bytes("said", key_of(key, form), _sealed(said, files))


def list_key(options: Options, texts: list[tuple[str, str]], kernel: Kernel) -> str:
    """Compute the key of what -l or -L prints for these texts."""
    return key_of(key(options, texts, kernel), options.verbose[1] > 0)


def find_list(cache: Cache, key: str) -> str | None:
    """Find what -l printed for a `list_key`; None when it is not kept or has changed."""
    return _opened(cache.get_bytes("lists", key))


def store_list(cache: Cache, key: str, text: str, files: Iterable[Path]) -> None:
    """Remember it; ``files`` as for `store`."""
    cache.put_bytes("lists", key, _sealed(text, files))


def _sealed(text: str, files: Iterable[Path]) -> bytes:
    from stapy.debuginfo.user import questions

    # repr() has neither tab nor newline
    lines = [f"{_identity(path)!r}\tfile {_word(path)}\n" for path in sorted(set(files))]
    places = sorted(looked.places().items())
    lines += [f"{found}\tplace {_word(path)}\n" for path, found in places]
    lines += [f"\tmissing {end} {build_id}\n" for build_id, end in sorted(looked.missing().items())]
    lines += [f"{found}\task {question}\n" for question, found in questions.asked()]
    return f"{len(lines)}\n{''.join(lines)}{text}".encode(*_BYTES)


def _word(path: Path) -> str:
    return str(path).encode(*_BYTES).hex()  # which has no newline, whatever the path has


def _path(word: str) -> Path:
    return Path(bytes.fromhex(word).decode(*_BYTES))


def _opened(data: bytes | None) -> str | None:
    """Return the text; None when a file or program name it depends on has changed since."""
    if data is None:
        return None
    count, _, text = data.decode(*_BYTES).partition("\n")
    for _ in range(int(count)):
        line, _, text = text.partition("\n")
        before, _, asked = line.partition("\t")
        if before != _now(*asked.split(" ", 1)):
            return None
    return text


def _now(kind: str, rest: str) -> str:
    """Tell what one thing is now that an answer depended on."""
    if kind == "file":
        return repr(_identity(_path(rest)))
    if kind == "place":
        return looked.identity(_path(rest))
    if kind == "missing":
        return _server_has(*rest.split(" "))
    return _answer(rest)


def _server_has(until: str, build_id: str) -> str:
    """Tell whether a build that no server had has come; "" for no.

    When that no longer counts they are asked, which costs less than to make the answer anew: that
    would ask as well.
    """
    from stapy.debuginfo.dwarf.files import debuginfod

    if debuginfod.is_kept(build_id):
        return "kept"
    over = looked.is_over(int(until)) and not debuginfod.is_still_missing(build_id)
    return "there, or nobody knows" if over else ""


def _answer(question: str) -> str:
    """Ask now what was asked of programs then: links, ``$PATH`` and processes change."""
    # Those that answer are the other two.
    from stapy.debuginfo.user import processes, questions, search  # noqa: F401

    return questions.answer(question)
