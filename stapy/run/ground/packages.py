"""By which command a Python package comes to the Python that runs us."""

import os
import shlex
import shutil
import sys
import sysconfig
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

_TREE = Path(__file__).resolve().parents[3]  # where ``stapy/`` lies


def way_to_extra(name: str) -> str:
    """Return the command that brings what an extra of stapy (`plot`, `monitor` …) needs.

    Where pip knows stapy, its name does, and nothing is fetched but what lacks. From a source tree
    that was never installed pip would ask its index for something of that name: it gets the folder.
    """
    if not _is_known() and (_TREE / "setup.cfg").is_file():
        return way_to_package("-e", f"{_TREE}[{name}]")
    return way_to_package(f"stapy[{name}]")


def way_to_package(*what: str) -> str:
    """Return the command that installs a package for the Python that runs us.

    Another pip on $PATH may be that of another Python; some Pythons have none.
    """
    python = sys.executable or "python3"
    before: list[str] = []
    command = [python, "-m", "pip", "install"]
    if find_spec("pip") is None:
        if shutil.which("uv"):
            command = ["uv", "pip", "install", "--python", python]
        elif not _is_virtual() and shutil.which("apt-get"):
            before = ["apt-get", "install", "python3-pip"]
        else:
            before = [python, "-m", "ensurepip"]
    if not _is_virtual() and _is_managed():
        command.append("--break-system-packages")
    text = shlex.join([*command, *what])
    return f"{shlex.join(before)} && {text}" if before else text


def _is_known() -> bool:
    """Tell whether pip knows stapy in this Python; it does not see what lies in a source tree."""
    places = (one.locate_file("") for one in distributions(name="stapy"))
    return any(Path(str(place)).resolve() != _TREE for place in places)


def _is_virtual() -> bool:
    return sys.prefix != sys.base_prefix


def _is_managed() -> bool:
    """Tell whether pip refuses this Python, which belongs to the distribution (PEP 668)."""
    folder = sysconfig.get_path("stdlib") or ""
    return os.path.exists(os.path.join(folder, "EXTERNALLY-MANAGED"))
