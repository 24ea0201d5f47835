"""The one facade of this folder: user programs by path, each opened once.

    programs = Programs(cache, warn)
    file = programs.open("/usr/bin/bash")          # raises UserFileError
    table = programs.functions(file)               # a FunctionTable
    table.named("readline"), table.matching("mall*"), table.nearest("realine")

Nothing but `open` raises `DebuginfoError`: a damaged file is told of once, and what it
would have said is left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.arch import X86_64, Architecture
from stapy.cache import Cache, file_identity, key_of, own_state
from stapy.debuginfo import pack
from stapy.debuginfo.dwarf.files.paths import by_build_id, folders
from stapy.debuginfo.dwarf.query.opener import open_first
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.keeping import kept
from stapy.debuginfo.sites import DWARF, FunctionSite, FunctionSites
from stapy.debuginfo.user import search, symbols
from stapy.debuginfo.user.file import UserFile, UserFileError
from stapy.debuginfo.user.symbols import addresses, debug_file
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.user.datasymbols import DataSymbols
    from stapy.debuginfo.user.emulated import Entries
    from stapy.debuginfo.user.plt import Stub
    from stapy.debuginfo.user.sdt import Mark
    from stapy.debuginfo.user.symbols import FunctionTable

# Where distributions put what they have built.
_OF_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib")
_KEPT = "/usr/lib/debug/.build-id"


class Programs:
    """What is known of the files of user programs, all for one machine."""

    def __init__(
        self, cache: Cache, warn: Callable[[str], None], machine: Architecture = X86_64
    ) -> None:
        self.machine = machine
        self._cache = cache
        self._warn = warn
        self._told: set[str] = set()
        self._files: dict[str, UserFile | UserFileError] = {}
        self._forgotten: dict[str, str] = {}  # by path, with build-id
        self._debug_files: dict[Path, Path | None] = {}
        self._asked_servers: set[Path] = set()
        self._functions: dict[tuple[Path, Path | None], FunctionTable] = {}
        self._dwarf: dict[tuple[Path, Path | None], DwarfFile | None] = {}
        self._marks: dict[Path, list[Mark]] = {}
        self._stubs: dict[Path, list[Stub]] = {}
        self._entries: dict[Path, Entries] = {}

    def warn(self, text: str) -> None:
        """Tell of a file that is left out, once."""
        if text not in self._told:
            self._told.add(text)
            self._warn(text)

    def open(self, path: str) -> UserFile:
        """Open a file by its path without links; raises `UserFileError` when it is not for us."""
        found = self._files.get(path)
        if found is None:
            try:
                found = UserFile.open(Path(path), self.machine)
            except UserFileError as error:
                found = error.with_traceback(None)  # which would keep the file mapped
                found.__context__ = None
            self._files[path] = found
        if isinstance(found, UserFileError):
            raise found
        return found

    def forget(self, file: UserFile) -> None:
        """Let go of a file that had nothing to be probed; it is still one that was asked about.

        A pattern of paths may mean thousands, and who asks again has it read again.
        """
        self._forgotten[str(file.path)] = file.build_id
        self._files.pop(str(file.path), None)
        self._debug_files.pop(file.path, None)
        self._marks.pop(file.path, None)
        self._stubs.pop(file.path, None)
        self._entries.pop(file.path, None)
        for key in [key for key in self._functions if key[0] == file.path]:
            del self._functions[key]
        for key in [key for key in self._dwarf if key[0] == file.path]:
            del self._dwarf[key]

    def files(self) -> list[Path]:
        """List what answers depend on: the files asked about and their debug files.

        Also where a debug file would be, were it installed: answers change when it comes.
        """
        found = [Path(path) for path in {**self._files, **self._forgotten}]
        found += [path for path in self._debug_files.values() if path is not None]
        ids = [row.build_id for row in self._files.values() if isinstance(row, UserFile)]
        ids += self._forgotten.values()
        found += [path for folder in folders() for row in ids for path in by_build_id(folder, row)]
        return list(dict.fromkeys(found))

    def debug_file(self, file: UserFile, *, download: bool = False) -> Path | None:
        """Find the separate debug file, on a server only with ``download``; or None."""
        known = self._debug_files.get(file.path)
        fetch = download and known is None and file.path not in self._asked_servers
        if file.path not in self._debug_files or fetch:
            if fetch:
                self._asked_servers.add(file.path)
            try:
                known = debug_file(file, self.warn, download=download)
            except DebuginfoError as error:
                self.warn(str(error))
                known = None
            self._debug_files[file.path] = known
        return known

    def functions(self, file: UserFile, *, download: bool = False) -> FunctionTable:
        """List the functions of a file by its tables of symbols.

        ``download`` is for a name that is not among those of a stripped file.
        """
        debug = self.debug_file(file, download=download)
        found = self._functions.get((file.path, debug))
        if found is None:
            try:
                found = symbols.load(file, debug, self._cache)
            except (DebuginfoError, OSError) as error:
                self.warn(str(error))
                found = symbols.nothing(file)
            self._functions[file.path, debug] = found
        return found

    def dwarf(self, file: UserFile, *, download: bool = True) -> DwarfFile | None:
        """Open the debug information of a file; None when there is none."""
        debug = self.debug_file(file, download=download)
        if (file.path, debug) not in self._dwarf:
            paths = [path for path in (debug, file.path) if path is not None]
            found, problems = open_first(paths, file.build_id, None, self._cache, progress.tell)
            for problem in problems:
                self.warn(problem)
            if found is not None and self._is_split(found):
                found = None
            if found is not None:
                found.needs_symbols = False
                found.program = file.elf
            self._dwarf[file.path, debug] = found
        return self._dwarf[file.path, debug]

    def _is_split(self, dwarf: DwarfFile) -> bool:
        from stapy.debuginfo.user.split import is_split

        try:
            split = is_split(ElfFile.open(dwarf.path))
        except DebuginfoError:
            return False  # whoever reads it tells of the damage
        if split:
            self.warn(
                f"{dwarf.path}: its debug information is in files of their own (.dwo), which "
                "stapy does not read; build the program without -gsplit-dwarf"
            )
        return split

    def places(
        self,
        file: UserFile,
        text: str,
        *,
        allow_nearest: bool = False,
        lines_as_functions: bool = False,
        download: bool = True,
    ) -> FunctionSites:
        """Ask DWARF about ``name[@file[:line|:first-last|:*|+offset]]``; see `Debuginfo.places`."""
        spec, dwarf = parse(text), self.dwarf(file, download=download)
        result = FunctionSites([], dwarf is not None, spec is not None)
        if spec is None or dwarf is None:
            return result
        from stapy.debuginfo.dwarf.query.answers import distinct

        try:
            found = dwarf.find(
                spec, allow_nearest=allow_nearest, lines_as_functions=lines_as_functions
            )
        except DebuginfoError as error:
            self.warn(str(error))
            return result
        result.near_lines = list(dict.fromkeys(found.near_lines))
        result.functions = found.functions
        result.sites = [
            FunctionSite(place.function, None, None, DWARF, place=place)
            for place in distinct(found.places, spec.lines is None)
        ]
        return result

    def proven(self, file: UserFile, dwarf: DwarfFile) -> tuple[set[int], set[int]]:
        """Select the addresses that debug information tells of where an instruction must begin.

        With those of them that the kernel puts breakpoints on. It takes long to find out for all
        and is kept; a file can be patched and keep its build-id.
        """
        from stapy.debuginfo.user import boundaries
        from stapy.debuginfo.user.instructions import reader

        def make() -> bytes:
            found = boundaries.proven(file, self.functions(file), dwarf.index.tables()[1])
            why_not = reader(file.machine).why_not
            sound = [address for address in found if not why_not(file, address)[0]]
            parts = {"begin": array("Q", found), "sound": array("Q", sound)}
            return pack.encode({name: rows.tobytes() for name, rows in parts.items()})

        try:
            name = file_identity(file.path)
            ours = own_state(Path(__file__).parent)  # who reads instructions is in this folder
            key = key_of("proven", ours, file.build_id, *name, *dwarf.identity)
            data = kept(self._cache, key, make)
            parts = pack.decode(data)
            begin, sound = (
                set(pack.numbers("Q", bytes(data[slice(*parts[name])])))
                for name in ("begin", "sound")
            )
        except (DebuginfoError, KeyError, OSError):  # of a file, or of what was kept
            return set(), set()  # each place is looked at
        return begin, sound

    def dwarf_at(self, path: str) -> DwarfFile | None:
        """Open the debug information of a path, for questions about types.

        Returns None also for what is no program.
        """
        try:
            return self.dwarf(self.open(search.find(path) or path))
        except UserFileError:  # who names it is told of that
            return None

    def marks(self, file: UserFile) -> list[Mark]:
        """List the marks of a file."""
        from stapy.debuginfo.user.sdt import marks

        found = self._marks.get(file.path)
        if found is None:
            try:
                found = marks(file, self.warn)
            except DebuginfoError as error:
                self.warn(str(error))
                found = []
            self._marks[file.path] = found
        return found

    def stubs(self, file: UserFile) -> list[Stub]:
        """List the stubs by which a file calls functions of others."""
        from stapy.debuginfo.user.plt import stubs

        found = self._stubs.get(file.path)
        if found is None:
            try:
                found = stubs(file)
            except DebuginfoError as error:
                self.warn(str(error))
                found = []
            self._stubs[file.path] = found
        return found

    def distance(self, file: UserFile, address: int) -> int:
        """Tell how far behind the beginning of a function its breakpoint may lie.

        0 unless that is proven to show nobody a difference.
        """
        if not file.machine.follows_code:
            return 0
        from stapy.debuginfo.user.emulated import Entries
        from stapy.debuginfo.user.reached import Reached

        entries = self._entries.get(file.path)
        if entries is None:
            reached = Reached(file, self.debug_file(file), self._cache)
            entries = self._entries[file.path] = Entries(file, self.functions(file), reached)
        try:
            return entries.distance(address)
        except (DebuginfoError, OSError) as error:  # of a part that programs run without
            self.warn(str(error))
            return 0

    def addresses(self, file: UserFile, names: set[str]) -> dict[str, int]:
        """Look up symbols of a file, also of data; those that are there just once."""
        try:
            return addresses(file, self.debug_file(file), names)
        except DebuginfoError as error:
            self.warn(str(error))
            return {}

    def data(self, file: UserFile) -> DataSymbols:
        """List variables of a file by its tables of symbols, and what else has a name there."""
        from stapy.debuginfo.user.datasymbols import DataSymbols, data_symbols

        try:
            return data_symbols(file, self.debug_file(file))
        except DebuginfoError as error:
            self.warn(str(error))
            return DataSymbols([], set(), set(), set())

    def missing_hint(self, file: UserFile) -> str:
        """Say what to install for the debug information of a file; "" when nothing is known."""
        from stapy.debuginfo.user.packages import debug_command

        command = debug_command(file.path)
        if command:
            return f"its debug package has them: {command}"
        if str(file.path).startswith(_OF_SYSTEM) or file.elf.section(".debug_info"):
            return ""
        built = "build it with -g"
        if not file.elf.section(".symtab"):
            built += ", and do not strip it"
        if number := file.build_id:
            built += f", or put its debug file at {_KEPT}/{number[:2]}/{number[2:]}.debug"
        return built
