"""Modules for kernels that clang has built: its make is told to take the same clang again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.build.tools import HERE, Tools
from stapy.kernel.target import compiler_of

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.kernel.config import Config

# What the kernel's Makefile calls them, and LLVM does.
_OF_LINKER = {
    "LD": "ld.lld",
    "AR": "llvm-ar",
    "NM": "llvm-nm",
    "OBJCOPY": "llvm-objcopy",
    "OBJDUMP": "llvm-objdump",
    "READELF": "llvm-readelf",
    "STRIP": "llvm-strip",
}


class LlvmTools(Tools):
    """This machine's programs, with the clang that built a kernel, and what else of LLVM.

    The kernel's configuration says whether its linker and assembler were LLVM's, too. Programs
    are named with their version, as distributions that have several do, unless only the plain
    ``clang`` is of that version. What the linker would optimize as a whole (LTO) is left out:
    objects are code then, as modules of such kernels may be, and can be kept and read.
    ``clang`` is the compiler's name here.
    """

    def __init__(self, config: Config, compiler: str) -> None:
        suffix = "" if self._is_plain(compiler) else compiler.removeprefix("clang")
        self.clang = f"clang{suffix}"
        words = [f"CC={self.clang}", "CC_FLAGS_LTO="]
        words.append(f"LLVM_IAS={int(config.is_enabled('CONFIG_AS_IS_LLVM'))}")
        if config.is_enabled("CONFIG_LD_IS_LLD"):
            words.append("LLVM=1")
            words += [f"{name}={program}{suffix}" for name, program in _OF_LINKER.items()]
        self.make_words = tuple(words)
        self.identity = " ".join(words)

    def _is_plain(self, compiler: str) -> bool:
        """Tell whether there is no ``clang-MAJOR``, but a ``clang`` of that version."""
        if self.find(compiler) is not None:
            return False
        plain = self.find("clang")
        return plain is not None and compiler_of(self.run([plain, "--version"]).output) == compiler


def tools_for(kernel: Kernel) -> Tools:
    """Choose this machine's programs for a kernel of its architecture: LLVM's, or all others."""
    if not kernel.config.is_enabled("CONFIG_CC_IS_CLANG"):
        return HERE
    return LlvmTools(kernel.config, kernel.compiler)
