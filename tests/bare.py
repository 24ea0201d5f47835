"""A bare target: what Debian's `python3-minimal` has of Python, and a root with nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from stapy.remote import archive

# What `python3-minimal` of Debian 11 and 12 lacks, by the file lists of its packages and by what
# its interpreters have built in; `tests/run/test_bare.py` compares it with the installed one.
_LACKING = """
    _asyncio _bz2 _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw
    _compression _contextvars _crypt _ctypes _curses _curses_panel _dbm _decimal _json _lsprof
    _lzma _markupbase _multibytecodec _multiprocessing _posixshmem _pydecimal _pyio _queue
    _sqlite3 _tkinter _uuid _zoneinfo aifc asynchat asyncio asyncore audioop bdb bz2 cProfile
    cgi cgitb chunk cmd code codeop colorsys concurrent contextvars crypt ctypes curses
    dataclasses dbm decimal difflib distutils doctest ensurepip fileinput fractions ftplib
    getpass gettext graphlib gzip hmac html http idlelib imaplib imghdr json lib2to3 lzma
    mailbox mailcap mimetypes mmap modulefinder multiprocessing netrc nis nntplib ntpath
    nturl2path numbers ossaudiodev pdb pickletools pipes plistlib poplib pprint profile pstats
    pty pyclbr pydoc pydoc_data queue readline resource rlcompleter sched secrets shelve shlex
    shutil smtpd smtplib sndhdr socketserver sqlite3 statistics sunau symtable tabnanny tarfile
    telnetlib termios timeit tkinter trace tty turtle turtledemo unittest uuid venv wave
    webbrowser wsgiref xdrlib xml xmlrpc zipapp zoneinfo
"""
LACKING = frozenset(_LACKING.split())
# Before anything else of a program: such modules are not there, whoever has imported them before.
BLOCKED = f"""
import sys
LACKING = frozenset({" ".join(sorted(LACKING))!r}.split())
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LACKING:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Nowhere())
for name in [name for name in sys.modules if name.partition(".")[0] in LACKING]:
    del sys.modules[name]
"""
_LIBRARIES = re.compile(r"(?:=> )?(/\S+) \(0x")


class NoPackages(Exception):
    """This machine's Python does not come from Debian's packages."""


def _listed(package: str) -> list[str]:
    try:
        done = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False)
    except OSError:
        raise NoPackages("there is no dpkg here") from None
    if done.returncode:
        raise NoPackages(f"the package {package} is not installed")
    return done.stdout.splitlines()


def interpreter() -> str:
    """Return the path of the interpreter that `python3-minimal` brings."""
    named = Path("/usr/bin/python3").resolve()
    if not named.name.startswith("python3."):
        raise NoPackages("/usr/bin/python3 is not Debian's")
    return f"/usr/bin/{named.name}"


def files() -> list[str]:
    """List the files of the packages that `python3-minimal` needs, but for libraries of C."""
    name = Path(interpreter()).name
    listed = [
        path
        for package in ("python3-minimal", f"{name}-minimal", f"lib{name}-minimal")
        for path in _listed(package)
    ]
    return sorted({path for path in listed if "/share/" not in path and Path(path).is_file()})


def make_root(folder: Path, *programs: str) -> None:
    """Fill a folder with `python3-minimal`, these programs, and the libraries that they load."""
    wanted = [interpreter(), *programs, *(name for name in files() if name.endswith(".so"))]
    told = subprocess.run(["ldd", *wanted], capture_output=True, text=True, check=False).stdout
    for name in {*files(), *programs, *_LIBRARIES.findall(told)}:
        place = folder / name.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, place)
        shutil.copymode(name, place)
    for name in ("bin", "sbin", "lib", "lib64"):
        if not (folder / name).exists():
            (folder / name).symlink_to(f"usr/{name}")
        elif not (folder / "usr" / name).exists():
            (folder / "usr" / name).symlink_to(f"../{name}")
    for name in ("proc", "sys", "dev", "tmp", "run"):
        (folder / name).mkdir(exist_ok=True)


def zipapp(place: Path) -> Path:
    """Make the consumer as one file, as `stapy pack` does."""
    archive.write(place)
    return place


def pythons() -> list[str]:
    """List the interpreters to test with: ours, and those of ``STAPY_TEST_PYTHONS``."""
    named = os.environ.get("STAPY_TEST_PYTHONS", "")
    return [sys.executable, *(name for name in named.split(":") if name)]
