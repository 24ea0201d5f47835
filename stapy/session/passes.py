"""The five passes but the last, each a method; what a pass says is shown as soon as it ends."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import Cache
from stapy.diagnostics import Bug
from stapy.session import settle
from stapy.session.messages import PassMessages
from stapy.terminal import progress
from stapy.timing import PassTimer, memory
from stapy.trust import why_untrusted

if TYPE_CHECKING:
    from stapy.build.ahead import Ahead
    from stapy.build.module import Module
    from stapy.build.sign import SigningKey
    from stapy.build.tools import Tools
    from stapy.debuginfo.facade import Debuginfo
    from stapy.ir.program import Program
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.parse.nodes import Script
    from stapy.services import Services
    from stapy.translate.source import ModuleSource
    from stapy.vm.machine import Machine


# Warnings of lists that are true as long as the files are what they are.
LASTING = {"W0691"}


class Passes(PassMessages):
    """What passes 1 to 4 of one command share: cache, tools, the folder in which they work."""

    arguments_way = ""  # how arguments are given, where that is not the command line

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.cache = Cache.of(options)
        self.texts: list[tuple[str, str]] = []  # names and texts of the scripts
        self.key = ""  # of what was translated, or listed, before
        self.folder: Path | None = None
        self.machine: Machine | None = None
        self.kit: Ahead | None = None
        self.tools: Tools | None = None
        self.signer: SigningKey | None = None

    def parse(self, kernel: Kernel) -> list[Script]:
        """Pass 1."""
        self.at_pass = 1
        timer = PassTimer()
        from stapy.parse import open_library, parse_script, warn_unused_arguments
        from stapy.parse.facts import PreprocessFacts

        options = self.options
        facts = PreprocessFacts(
            kernel_release=kernel.release,
            arch=kernel.arch,
            config=kernel.config.text,
            guru=options.guru,
            privilege=options.privilege,
            arguments=options.arguments,
            arguments_way=self.arguments_way,
        )
        if options.compatible:
            facts.compatible = options.compatible
        self.facts = facts
        self.library = open_library(
            options.tapset_dirs, facts, self.cache, self.sources, self.diagnostics
        )
        used: set[int] = set()
        scripts = [
            parse_script(
                name,
                text,
                facts,
                self.library,
                self.sources,
                self.diagnostics,
                used_arguments=used,
            )
            for name, text in self.texts
        ]
        if not self.diagnostics.errors and options.listing is None:
            warn_unused_arguments(facts, used, self.diagnostics, options.apart)
        if options.check_version:
            settle.warn_of_versions(facts.version_tests, scripts, self.diagnostics)
        self.end_pass()
        self.verbose(
            f"parsed user script and {len(self.library.files())} library scripts"
            f" using {memory()}, in {timer.spent()}."
        )
        return [script for script in scripts if script is not None]

    def services(self, kernel: Kernel) -> Services:
        """Make what passes 2 and 3 may ask."""
        from stapy.debuginfo import looked
        from stapy.debuginfo.facade import Debuginfo
        from stapy.debuginfo.user import questions
        from stapy.services import Services
        from stapy.session import building

        questions.forget()
        looked.forget()
        self.debuginfo: Debuginfo = Debuginfo(kernel, self.cache, self.diagnostics)
        self.debuginfo.headers = partial(building.compile_headers, self, kernel)
        self.debuginfo.compile_trace_headers(partial(building.compile_trace_header, self, kernel))
        return Services(
            self.options, self.diagnostics, self.sources, kernel, self.debuginfo, self.library
        )

    def why_not_made(self, kernel: Kernel) -> str:
        """Say why nothing is compiled with makefiles of a kernel, "" when it may be."""
        return ""

    def list_points(self, scripts: list[Script], services: Services) -> int:
        """Print what -l, -L and --dump-… list; return the exit status, 1 for an empty list."""
        self.at_pass = 2
        from stapy.elaborate import listing

        options = self.options
        if options.dump:
            lines = listing.dump(options.dump, services)
        else:
            lines = listing.list_points(scripts, services, options.listing_variables)
        self.end_pass()
        text = "".join(line + "\n" for line in lines)
        self.write(text)
        # Others tell of what may be there the next time.
        lasts = all(item.code in LASTING for item in self.diagnostics.items)
        if lines and lasts and not (options.dump or services.listing_expires):
            from stapy.session import modules

            modules.remember_list(self, text, services)
        return 0 if lines else 1

    def elaborate(self, scripts: list[Script], services: Services) -> Program:
        """Pass 2."""
        self.at_pass = 2
        timer = PassTimer()
        from stapy.elaborate import elaborate
        from stapy.elaborate.assemble.binaries import take_along

        program = elaborate(scripts, services)
        if program is not None and self.options.last_pass > 2:
            take_along(program, services)
        self.end_pass()
        if program is None:
            raise Bug("pass 2 gave nothing and no reason")
        counts = (
            (sum(len(probe.sites) for probe in program.probes), "probe"),
            (len(program.functions), "function"),
            (len(program.embedded), "embed"),
            (len(program.globals), "global"),
        )
        listed = ", ".join(f"{n} {word}{'s' if n != 1 else ''}" for n, word in counts)
        self.verbose(f"analyzed script: {listed} using {memory()}, in {timer.spent()}.")
        return program

    def translate(self, program: Program) -> ModuleSource:
        """Pass 3."""
        self.at_pass = 3
        timer = PassTimer()
        from stapy.session import modules
        from stapy.translate import translate

        name = self.options.module_name or modules.default_name(self)
        source = translate(program, self.options, self.diagnostics, name)
        self.end_pass()
        self.verbose(f'translated to C into "{name}.c" using {memory()}, in {timer.spent()}.')
        return source

    def build(self, source: ModuleSource, kernel: Kernel, services: Services) -> Module:
        """Pass 4."""
        self.at_pass = 4
        timer = PassTimer()
        from stapy.build.driver import build
        from stapy.build.tools import HERE
        from stapy.debuginfo.facts import kernel_facts

        progress.tell(f"compiling for {kernel.release}")
        module = build(
            source,
            kernel=kernel,
            options=self.options,
            diagnostics=self.diagnostics,
            cache=self.cache,
            folder=self.work_folder(),
            facts=lambda: kernel_facts(kernel, services.debuginfo.btf, kernel.exports),
            tools=self.tools or HERE,
        )
        self.end_pass()
        if module is None:
            raise Bug("pass 4 gave nothing and no reason")
        self.verbose(f'compiled C into "{module.path.name}" in {timer.spent()}.')
        return module

    def work_folder(self) -> Path:
        """Return the temporary folder of this command, made on first use."""
        if self.folder is None:
            if self.options.tmpdir:
                folder = Path(self.options.tmpdir).absolute()
                try:
                    folder.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    self.refuse("E0491", f"--tmpdir: cannot make '{folder}': {error.strerror}")
                why = why_untrusted(folder)
                if why:
                    self.refuse("E0491", f"--tmpdir: others can change what is made there: {why}")
                if self.options.build_in and any(folder.iterdir()):
                    # What comes out of a container must not meet files of the user's.
                    self.refuse(
                        "E0491",
                        f"--tmpdir: '{folder}' is not empty, as it has to be with --build-in",
                        hint="name a folder that is still to be made",
                    )
                self.folder = folder
            else:
                from stapy.temporary import unused_folder

                self.folder = unused_folder("session")  # a signal may come behind mkdir()
                self.folder.mkdir(mode=0o700)
        return self.folder
