"""Options → a run of the five passes; the only module that knows all of them.

Each pass is a method; what a pass says is shown as soon as it ends.  A script
that was translated before is found by one key (`stapy.cache.results`) before pass 1
begins.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import Cache
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import Bug, Diagnostics, SourceMap, Stop
from stapy.session import checks, inputs
from stapy.session.messages import Messages
from stapy.terminal import progress, writing
from stapy.timing import PassTimer, memory
from stapy.trust import doubt, write_new

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.build.ahead import Ahead
    from stapy.build.module import Module
    from stapy.build.tools import Tools
    from stapy.debuginfo.facade import Debuginfo
    from stapy.ir.program import Program
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.parse.nodes import Script
    from stapy.services import Services
    from stapy.translate.source import ModuleSource
    from stapy.vm.machine import Machine


class Session(Messages):
    """One command."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.cache = Cache.of(options)
        self.folder: Path | None = None
        self.machine: Machine | None = None
        self.kit: Ahead | None = None
        self.tools: Tools | None = None

    # --- the whole -------------------------------------------------------

    def main(self) -> int:
        """Run the session; the exit status.  Never lets a traceback reach the user."""
        # What passes 1 to 4 make is needed until their end: looking for garbage in between
        # takes a quarter of their time and finds nothing.
        gc.disable()
        try:
            status = self.run()
        except Stop:
            status = self.failed()
        except KeyboardInterrupt:
            status = 1
        except writing.Unwritable as error:
            from stapy.diagnostics.bug_report import tell

            tell(str(error), self.options)
            status = 1
        except BrokenPipeError:
            # The reader of our messages has gone; nobody is left to tell.
            writing.forget(2)
            status = 1
        except DebuginfoError as error:
            # A damaged structure that only a late look into it showed.
            self.diagnostics.error("semantic error", "E0290", f"damaged debug information: {error}")
            status = self.failed()
        except ImportError as error:
            from stapy.diagnostics.bug_report import missing_package

            missing_package(error, self.options)
            status = 1
        except Exception as error:
            from stapy.diagnostics.bug_report import our_mistake

            our_mistake(error, self.options)
            status = 1
        finally:
            gc.enable()
            progress.clear()
            self.clean_up()
        return status

    def run(self) -> int:
        """Take the steps of the five passes up to the last one wanted; the exit status."""
        options = self.options
        if options.clean_cache:
            self.cache.clean()
            return 0
        if options.explain:
            from stapy.diagnostics.explain import explain

            return explain(options.explain)
        question = options.listing is not None or bool(options.dump)
        self.begin()
        if options.prepare:
            from stapy.session import building

            return building.prepare(self, inputs.find_kernel(self))
        checks.look_in_namespaces(self)
        if options.last_pass == 5 and not question:
            checks.check_run(self)
        inputs.check_cache(self)
        self.texts = inputs.read_texts(self)
        kernel = inputs.find_kernel(self)
        if question:
            return self.answer(kernel)
        if options.last_pass >= 4:
            self.open_tools(kernel)
            recalled = self.recall(kernel)
            if recalled is not None:
                checks.check_host(self, kernel)
                return self.finish(recalled, kernel, from_cache=True)
            checks.check_tree(self, kernel)
            if self.tools:
                self.tools.begin()
            self.prepare_kit(kernel)
        scripts = self.parse(kernel)
        if self.ends_with(1, "scripts", lambda: _scripts_text(scripts)):
            return 0
        services = self.services(kernel)
        program = self.elaborate(scripts, services)
        if self.ends_with(2, "program", lambda: _program_text(program, options)):
            return 0
        if options.vm and options.last_pass == 5:
            self.boot_ahead()
        source = self.translate(program)
        if self.ends_with(3, "C", source.text):
            return 0
        # Mistakes in the script come first, but nothing is compiled in vain.
        checks.check_host(self, kernel)
        built = self.build(source, kernel, services)
        self.remember(built.path, services)
        return self.finish(built.path, kernel, from_cache=False)

    def ends_with(self, number: int, record: str, text: Callable[[], str]) -> bool:
        """Print the record behind a pass where that is wanted; True when the pass was the last."""
        if self.options.last_pass == number:
            self.write(text())
            return True
        if self.options.trace_passes:
            self.say(f"--- pass {number}: {record}\n{text()}")
        return False

    def answer(self, kernel: Kernel) -> int:
        """Answer -l, -L and --dump-…, from the cache if it was asked before."""
        if self.options.listing is not None and not self.options.dump:
            from stapy.cache import results

            self.key = results.list_key(self.options, self.texts, kernel)
            listed = results.find_list(self.cache, self.key)
            if listed is not None:
                self.write(listed)
                return 0
        scripts = self.parse(kernel)
        return self.list_points(scripts, self.services(kernel))

    def recall(self, kernel: Kernel) -> Path | None:
        """Find the module of this command among those that were made before, say its warnings."""
        from stapy.cache import results

        options = self.options
        tools = self.tools.identity if self.tools else ""
        self.key = results.key(options, self.texts, kernel, tools)
        # Who keeps the folder or looks at the passes wants to see all that is made.
        if options.keep or options.tmpdir is not None or options.trace_passes:
            return None
        found = results.find(self.cache, self.key, self.form_key())
        if found is None:
            return None
        module, said = found
        self.say(said)
        return module

    def open_tools(self, kernel: Kernel) -> None:
        """Settle where programs of pass 4 run, which is here unless --build-in says otherwise."""
        if self.options.build_in:
            from stapy.session import building

            self.tools = building.open_tools(self, kernel)

    def remember(self, module: Path, services: Services) -> None:
        """Keep the module with its warnings for the next command that asks for it."""
        if self.diagnostics.errors:
            return
        from stapy.cache import results

        files = services.debuginfo.module_files()
        said = "".join(self.said)
        results.store(self.cache, self.key, module, said, files, self.form_key())

    def begin(self) -> None:
        """Obey what concerns the command as a whole: limits, options without effect, -R."""
        from stapy.session import settle

        options = self.options
        self.at_pass = 0
        settle.set_limits(options.rlimits, self.diagnostics)
        for text in options.notices:
            self.diagnostics.warning("W0653", text)
        if options.flight_recorder and options.output is None and options.last_pass == 5:
            self.diagnostics.warning(
                "W0657",
                "output that does not fit into the buffers is lost until somebody takes it",
                hint="-s MB makes them larger, -o FILE writes the output in the background",
                notes=["stapy-run -A MODULE takes it"],
            )
        settle.check_defines(options.defines, self.diagnostics)
        settle.find_runtime(options, self.diagnostics)
        settle.check_tapsets(options.tapset_dirs, self.diagnostics)
        if options.example:
            settle.find_example(options, self.diagnostics)
        self.end_pass()

    def finish(self, module: Path, kernel: Kernel, *, from_cache: bool) -> int:
        """What follows pass 4: keep the module, run it."""
        options = self.options
        if from_cache and options.verbose[3]:
            self.note(f"Pass 4: using cached {module}")
        if options.module_name:
            self.keep_module(module)  # what is loaded is the one that nobody else can change
        progress.clear()
        if options.last_pass < 5:
            # A module that only the cache or the temporary folder has is named by its path.
            name = f"{options.module_name}.ko" if options.module_name else self.lasting(module)
            writing.write(f"{name}\n")
            return 0
        return self.load(module, kernel)

    def keep_module(self, module: Path) -> Path:
        """``-m NAME``: leave NAME.ko in the current directory."""
        wanted = Path.cwd() / f"{self.options.module_name}.ko"
        # Others may write to this folder as well: no name that they could guess.
        temporary = wanted.with_name(f".{wanted.name}.{os.getpid()}-{os.urandom(4).hex()}")
        try:
            write_new(temporary, module.read_bytes())
            temporary.replace(wanted)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            self.refuse("E0490", f"cannot write '{wanted}': {error.strerror}")
        return wanted

    def lasting(self, module: Path) -> Path:
        """Where the module will still be after this command."""
        if self.folder and not self.options.keep and self.folder in module.parents:
            from stapy.cache import results

            # --poison-cache keeps us from reading what was there, not from naming what we wrote.
            found = results.find(self.cache.filled(), self.key, self.form_key())
            if found is not None:
                return found[0]
            return self.keep_unnamed(module)
        return module

    def form_key(self) -> str:
        """Names the form in which warnings were written that are kept with a module."""
        options = self.options
        return f"{options.message_format}-{max(options.verbose) > 0}"

    def keep_unnamed(self, module: Path) -> Path:
        """Without a cache, the module stays in the current directory under its own name."""
        self.options.module_name = module.stem
        return self.keep_module(module)

    # --- the passes ------------------------------------------------------

    def parse(self, kernel: Kernel) -> list[Script]:
        """Pass 1."""
        self.at_pass = 1
        timer = PassTimer()
        from stapy.parse import open_library, parse_script, warn_unused_arguments
        from stapy.parse.facts import PreprocessFacts
        from stapy.session import settle

        options = self.options
        facts = PreprocessFacts(
            kernel_release=kernel.release,
            arch=kernel.arch,
            config=kernel.config.text,
            guru=options.guru,
            privilege=options.privilege,
            arguments=options.arguments,
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
            warn_unused_arguments(facts, used, self.diagnostics)
        if options.check_version:
            settle.warn_of_versions(facts.version_tests, scripts, self.diagnostics)
        self.end_pass()
        self.verbose(
            f"parsed user script and {len(self.library.files())} library scripts"
            f" using {memory()}, in {timer.spent()}."
        )
        return [script for script in scripts if script is not None]

    def services(self, kernel: Kernel) -> Services:
        """What passes 2 and 3 may ask."""
        from stapy.debuginfo.facade import Debuginfo
        from stapy.debuginfo.user import search
        from stapy.services import Services

        search.forget()
        self.debuginfo: Debuginfo = Debuginfo(kernel, self.cache, self.diagnostics)
        self.debuginfo.headers = lambda spec: self.compile_headers(spec, kernel)
        return Services(
            self.options, self.diagnostics, self.sources, kernel, self.debuginfo, self.library
        )

    def list_points(self, scripts: list[Script], services: Services) -> int:
        """-l, -L and --dump-…"""
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
        keep = not (options.dump or self.diagnostics.items or services.listing_expires)
        if lines and keep:
            from stapy.cache import results

            results.store_list(self.cache, self.key, text, services.debuginfo.module_files())
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
        from stapy.translate import translate

        name = self.options.module_name or self.default_name()
        source = translate(program, self.options, self.diagnostics, name)
        self.end_pass()
        self.verbose(f'translated to C into "{name}.c" using {memory()}, in {timer.spent()}.')
        return source

    def default_name(self) -> str:
        """Module name without -m: equal scripts get equal names, so that the cache can work."""
        from stapy.cache import key_of, results

        return "stap_" + key_of(results.text_key(self.options, self.texts))[:32]

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

    def _parameters(self, module: Path) -> list[str]:
        """What -G sets; pass 2 has warned of names that the program does not have."""
        from stapy.run.elf import ModuleFile

        wanted = self.options.globals
        known = set(ModuleFile(str(module)).parameters) if wanted else set()
        return [f"{name}={value}" for name, value in wanted.items() if name in known]

    def load(self, module: Path, kernel: Kernel) -> int:
        """Pass 5, here or in a virtual machine."""
        self.at_pass = 5
        gc.enable()
        timer = PassTimer()
        from stapy.run.options import RunOptions

        options = self.options
        run_options = RunOptions(
            module=str(module),
            parameters=self._parameters(module),
            command=options.command,
            target=options.target or 0,
            namespaces=options.namespaces or 0,
            output=options.output,
            rotate=options.rotate or "",
            timeout=options.timeout,
            warnings=not options.suppress_warnings,
            verbose=max(options.verbose[4] - 1, 0),  # -v alone is for what wrappers read
            color=options.color,
            detach=options.flight_recorder and options.output is None,
            daemon=options.flight_recorder and options.output is not None,
            message_format="json" if options.message_format == "json" else "text",
        )
        self.verbose("starting run.")
        sys.stdout.flush()
        if options.vm:
            from stapy.vm.errors import VmError
            from stapy.vm.session import prepare, run_module

            progress.tell(f"booting {kernel.release}")
            try:
                machine = self.machine or prepare(options.vm_release, options.sysroot)
                status = run_module(str(module), machine, run_options)
            except VmError as error:
                self.refuse("E0590", str(error), kind="run error", hint=error.hint)
        else:
            from stapy.run.consumer import run

            status = run(str(module), run_options)
        self.verbose(f"run completed in {timer.spent()}.")
        if status:
            self.tell_failed()
        return status

    def compile_headers(self, spec: str, kernel: Kernel) -> Path | None:
        """An object with the types of ``kernel<a.h>`` or ``<a.h>``; None (reported) if bad."""
        from stapy.build.headers import HeaderError, compiled, is_headers
        from stapy.build.kit import KitError
        from stapy.build.tools import HERE
        from stapy.debuginfo.facts import kernel_facts

        def facts() -> str:
            return kernel_facts(kernel, self.debuginfo.btf, kernel.exports)

        if not is_headers(spec):
            return None
        if self.options.listing is None and not self.options.dump:
            from stapy.session.checks import check_host

            check_host(self, kernel)  # nothing is compiled in vain
        try:
            tools = self.tools or HERE
            return compiled(
                spec, kernel, self.options, self.cache, self.work_folder(), facts, tools
            )
        except (HeaderError, KitError) as error:
            self.diagnostics.warning("W0682", f"no types of {spec}: {error}")
            return None

    def prepare_kit(self, kernel: Kernel) -> None:
        """Let the build kit be made meanwhile, unless pass 5 is known to refuse."""
        from stapy.build.ahead import prepare
        from stapy.debuginfo.facade import Debuginfo
        from stapy.debuginfo.facts import kernel_facts
        from stapy.session.checks import obstacles

        def facts() -> str:
            btf = Debuginfo(kernel, self.cache, Diagnostics(SourceMap())).btf
            return kernel_facts(kernel, btf, kernel.exports)

        if not obstacles(self.options, kernel):
            self.kit = prepare(kernel, self.options, self.cache, facts)

    def boot_ahead(self) -> None:
        """Let the virtual machine boot while the module is made."""
        from stapy.vm.errors import VmError
        from stapy.vm.session import prepare

        try:
            self.machine = prepare(self.options.vm_release, self.options.sysroot)
        except VmError as error:
            self.at_pass = 5
            self.refuse("E0590", str(error), kind="run error", hint=error.hint)

    # --- the temporary folder --------------------------------------------

    def work_folder(self) -> Path:
        """The temporary folder of this command, made on first use."""
        if self.folder is None:
            if self.options.tmpdir:
                folder = Path(self.options.tmpdir).absolute()
                try:
                    folder.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    self.refuse("E0491", f"--tmpdir: cannot make '{folder}': {error.strerror}")
                why = doubt(folder)
                if why:
                    self.refuse("E0491", f"--tmpdir: others can change what is made there: {why}")
                self.folder = folder
            else:
                from stapy.temporary import make_folder

                self.folder = make_folder("session")
        return self.folder

    def clean_up(self) -> None:
        """Remove the temporary folder, or say where it is kept; switch the machine off."""
        if self.kit:
            self.kit.close()
        if self.tools:
            self.tools.close()
        if self.machine:
            self.machine.close()
        if self.folder is None or self.options.tmpdir:
            return
        if self.options.keep:
            self.note(f'Keeping temporary directory "{self.folder}"')
            return
        from shutil import rmtree

        rmtree(self.folder, ignore_errors=True)


def _scripts_text(scripts: list[Script]) -> str:
    from stapy.parse.printer import dump

    return dump(scripts)


def _program_text(program: Program, options: Options) -> str:
    from stapy.ir.dump import dump_program

    return dump_program(program, options.verbose[1] > 0)
