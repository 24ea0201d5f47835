"""Jupyter and IPython: ``%load_ext stapy.notebook`` brings the cell magic ``%%stapy``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magic; IPython calls this."""
    from stapy.notebook.magic import Magic

    magic = Magic(shell)
    shell.register_magic_function(magic.obey, "line_cell", "stapy")  # type: ignore[arg-type]
