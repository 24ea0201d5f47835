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
from typing import TYPE_CHECKING, NoReturn

from stapy.cache import Cache
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import Bug, Diagnostic, Diagnostics, SourceMap, Stop
from stapy.terminal import progress, writing
from stapy.timing import PassTimer, memory
from stapy.trust import doubt, write_new

if TYPE_CHECKING:
    from stapy.build.ahead import Ahead
    from stapy.build.module import Module
    from stapy.debuginfo.facade import Debuginfo
    from stapy.diagnostics.layouts import Form
    from stapy.elaborate.services import Services
    from stapy.ir.program import Program
    from stapy.kernel import Kernel
    from stapy.options import Options
    from stapy.parse.nodes import Script
    from stapy.translate.source import ModuleSource
    from stapy.vm.machine import Machine

# What SystemTap prints when a pass fails, by number.
_FAILED = {1: "parse", 2: "analysis", 3: "translation", 4: "compilation", 5: "run"}


class Session:
    """One command."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.sources = SourceMap()
        self.diagnostics = Diagnostics(self.sources)
        self.cache = Cache.of(options)
        self.shown = 0
        self.said: list[str] = []
        self.form: Form | None = None
        self.at_pass = 0
        self.folder: Path | None = None
        self.machine: Machine | None = None
        self.kit: Ahead | None = None

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
        """The passes up to the last one wanted."""
        options = self.options
        if options.clean_cache:
            self.cache.clean()
            return 0
        if options.explain:
            from stapy.diagnostics.explain import explain

            return explain(options.explain)
        self.begin()
        if options.listing is None and not options.dump and options.last_pass == 5:
            self.check_run()
        self.check_cache()
        self.read_texts()
        kernel = self.find_kernel()
        if options.listing is None and not options.dump and options.last_pass >= 4:
            from stapy.cache import results

            self.key = results.key(options, self.texts, kernel)
            # Who keeps the folder wants to see all that is made in it.
            kept = options.keep or options.tmpdir is not None
            found = None if kept else results.find(self.cache, self.key, self.form_key())
            if found is not None:
                module, said = found
                self.say(said)
                self.check_host(kernel)
                return self.finish(module, kernel, cached=True)
            self.check_tree(kernel)
            self.prepare_kit(kernel)
        elif options.listing is not None and not options.dump:
            from stapy.cache import results

            self.key = results.list_key(options, self.texts, kernel)
            listed = results.find_list(self.cache, self.key)
            if listed is not None:
                self.write(listed)
                return 0
        scripts = self.parse(kernel)
        if options.last_pass == 1 and options.listing is None and not options.dump:
            from stapy.parse.printer import dump

            self.write(dump(scripts))
            return 0
        services = self.services(kernel)
        if options.dump or options.listing is not None:
            return self.list_points(scripts, services)
        program = self.elaborate(scripts, services)
        if options.last_pass == 2:
            from stapy.ir.dump import dump_program

            self.write(dump_program(program, options.verbose[1] > 0))
            return 0
        if options.vm and options.last_pass == 5:
            self.boot_ahead()
        source = self.translate(program)
        if options.last_pass == 3:
            self.write(source.text())
            return 0
        # Mistakes in the script come first, but nothing is compiled in vain.
        self.check_host(kernel)
        built = self.build(source, kernel, services)
        if not self.diagnostics.errors:
            from stapy.cache import results

            files = services.debuginfo.module_files()
            said = "".join(self.said)
            results.store(self.cache, self.key, built.path, said, files, self.form_key())
        return self.finish(built.path, kernel, cached=False)

    def begin(self) -> None:
        """Obey what concerns the command as a whole: limits, options without effect, -R."""
        from stapy import startup

        options = self.options
        self.at_pass = 0
        startup.set_limits(options.rlimits, self.diagnostics)
        for text in options.notices:
            self.diagnostics.warning("W0653", text)
        if options.flight_recorder and options.output is None and options.last_pass == 5:
            self.diagnostics.warning(
                "W0657",
                "output that does not fit into the buffers is lost until somebody takes it",
                hint="-s MB makes them larger, -o FILE writes the output in the background",
                notes=["stapy-run -A MODULE takes it"],
            )
        startup.check_defines(options.defines, self.diagnostics)
        startup.find_runtime(options, self.diagnostics)
        startup.check_tapsets(options.tapset_dirs, self.diagnostics)
        if options.example:
            startup.find_example(options, self.diagnostics)
        self.end_pass()

    def finish(self, module: Path, kernel: Kernel, *, cached: bool) -> int:
        """What follows pass 4: keep the module, run it."""
        options = self.options
        if cached and options.verbose[3]:
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

    def read_texts(self) -> None:
        """Script texts as ``(name, text)``; standard input and files are read once."""
        options = self.options
        self.texts: list[tuple[str, str]] = []
        if options.script_text is not None:
            self.texts.append(("<input>", options.script_text))
        elif options.script_file == "-":
            data = sys.stdin.buffer.read()
            self.texts.append(("<input>", data.decode("utf-8", "surrogateescape")))
        elif options.script_file is not None:
            try:
                data = Path(options.script_file).read_bytes()
            except OSError as error:
                self.at_pass = 1
                self.refuse(
                    "E0190",
                    f"Input file '{options.script_file}' is missing or unreadable:"
                    f" {error.strerror}",
                    kind="parse error",
                )
            self.texts.append((options.script_file, data.decode("utf-8", "surrogateescape")))
        for number, text in enumerate(options.extra_scripts, 1):
            self.texts.append((f"<input {number}>", text))
        if options.listing is not None:
            self.texts.append(("<input>", f"probe {options.listing} {{}}"))

    def find_kernel(self) -> Kernel:
        """The kernel that the module is for."""
        from stapy.kernel import find_kernel

        options = self.options
        release = options.release or os.environ.get("SYSTEMTAP_RELEASE")
        if options.vm:
            from stapy.vm.errors import VmError
            from stapy.vm.kernels import default_release, newest

            try:
                release = options.vm_release or default_release(options.sysroot)
                release = newest(release, options.sysroot)
                options.vm_release = release
            except VmError as error:
                self.refuse("E0590", str(error), kind="run error", hint=error.hint)
        return find_kernel(release, self.diagnostics, options.sysroot)

    def parse(self, kernel: Kernel) -> list[Script]:
        """Pass 1."""
        self.at_pass = 1
        timer = PassTimer()
        from stapy import startup
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
            startup.warn_of_versions(facts.version_tests, scripts, self.diagnostics)
        self.end_pass()
        self.verbose(
            f"parsed user script and {len(self.library.files())} library scripts"
            f" using {memory()}, in {timer.spent()}."
        )
        return [script for script in scripts if script is not None]

    def services(self, kernel: Kernel) -> Services:
        """What passes 2 and 3 may ask."""
        from stapy.debuginfo.facade import Debuginfo
        from stapy.elaborate.services import Services

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
        keep = not (options.dump or self.diagnostics.items or services.momentary)
        if lines and keep:
            from stapy.cache import results

            results.store_list(self.cache, self.key, text, services.debuginfo.module_files())
        return 0 if lines else 1

    def elaborate(self, scripts: list[Script], services: Services) -> Program:
        """Pass 2."""
        self.at_pass = 2
        timer = PassTimer()
        from stapy.elaborate import elaborate
        from stapy.elaborate.binaries import take_along

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
        from stapy.debuginfo.facts import kernel_facts

        def facts() -> str:
            return kernel_facts(kernel, self.debuginfo.btf, kernel.exports)

        if not is_headers(spec):
            return None
        if self.options.listing is None and not self.options.dump:
            self.check_host(kernel)  # nothing is compiled in vain
        try:
            return compiled(spec, kernel, self.options, self.cache, self.work_folder(), facts)
        except (HeaderError, KitError) as error:
            self.diagnostics.warning("W0682", f"no types of {spec}: {error}")
            return None

    def prepare_kit(self, kernel: Kernel) -> None:
        """Let the build kit be made meanwhile, unless pass 5 is known to refuse."""
        from stapy.build.ahead import prepare
        from stapy.debuginfo.facade import Debuginfo
        from stapy.debuginfo.facts import kernel_facts

        def facts() -> str:
            btf = Debuginfo(kernel, self.cache, Diagnostics(SourceMap())).btf
            return kernel_facts(kernel, btf, kernel.exports)

        if not self.obstacles(kernel):
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

    def check_cache(self) -> None:
        """Say why caches are not where the user expects them: what others can write is not used."""
        from stapy.paths import cache_place

        if self.options.use_cache and cache_place().complaint:
            self.warn_here("W0660", cache_place().complaint)

    def check_tree(self, kernel: Kernel) -> None:
        """Say whose programs will be run with our rights, unless the user named the tree."""
        tree = kernel.build_dir
        if tree is None or self.options.release or self.options.vm or self.options.sysroot:
            return
        why = doubt(tree)
        if why:
            self.warn_here(
                "W0661",
                f"the kernel's build tree '{tree}' is used, but others can change it: {why}",
            )

    def check_run(self) -> None:
        """Refuse what pass 5 could not do; in a virtual machine other programs may be there."""
        options = self.options
        if options.vm:
            from stapy.vm.errors import VmError
            from stapy.vm.qemu import check

            try:
                check()
            except VmError as error:
                self.at_pass = 5
                self.refuse("E0590", str(error), kind="run error", hint=error.hint)
            return
        from stapy.run import mark

        taken = mark.refusal(options.module_name) if options.module_name else ""
        if taken:
            self.at_pass = 5
            self.refuse("E0503", taken, kind="run error")
        if options.command is None and options.output is None:
            return
        from stapy.run import beforehand
        from stapy.run.errors import RunError

        try:
            beforehand.check(options.command, options.output, bool(options.rotate))
        except RunError as error:
            self.at_pass = 5
            self.refuse("E0502", str(error), kind="run error")

    def check_host(self, kernel: Kernel) -> None:
        """Say in one line why this host cannot load modules, and offer the machine."""
        reasons = self.obstacles(kernel)
        if reasons:
            self.at_pass = 5
            self.refuse(
                "E0501",
                "this host cannot load modules: " + "; ".join(reasons),
                kind="run error",
                hint="run it in a throw-away virtual machine: stapy --vm …",
            )

    def obstacles(self, kernel: Kernel) -> list[str]:
        """Why this host cannot load the module; nothing when it will not be asked to."""
        from stapy.kernel.host import obstacles

        return [] if self.options.vm or self.options.last_pass < 5 else obstacles(kernel)

    # --- talking ---------------------------------------------------------

    def refuse(self, code: str, message: str, *, kind: str = "error", hint: str = "") -> NoReturn:
        """Report an error that has no place in a script, and stop."""
        self.diagnostics.error(kind, code, message, hint=hint)
        raise Stop

    def end_pass(self) -> None:
        """Show what the pass said; stop when it failed."""
        self.show()
        if self.diagnostics.errors:
            raise Stop
        if self.options.warnings_are_errors and self.said:
            raise Stop

    def show(self) -> None:
        """Draw the diagnostics that were not shown yet."""
        fresh = self.diagnostics.items[self.shown :]
        self.shown = len(self.diagnostics.items)
        if not fresh:
            return
        progress.clear()
        for item in fresh:
            if item.severity == item.WARNING and self.options.suppress_warnings:
                continue
            text = self.drawn(item)
            text += "" if text.endswith("\n") else "\n"
            if item.severity == item.WARNING:
                self.said.append(text)
            sys.stderr.write(text)
        sys.stderr.flush()

    def drawn(self, item: Diagnostic) -> str:
        """A message in the form that was asked for."""
        from stapy.diagnostics.layouts import form_of
        from stapy.diagnostics.render import use_color
        from stapy.parse.tokens import KEYWORDS

        if self.form is None:
            name = self.options.message_format or "rich"
            self.form = form_of(name, self.sources, max(self.options.verbose) > 0, KEYWORDS)
        return self.form(item, self.at_pass, use_color(self.options.color))

    def warn_here(self, code: str, message: str) -> None:
        """A warning about this machine and user, which is not kept with what was made."""
        if self.options.suppress_warnings:
            return
        item = Diagnostics(self.sources).warning(code, message)
        self.say(self.drawn(item))

    def write(self, text: str) -> None:
        """Text on standard output."""
        progress.clear()
        writing.write(text)

    def say(self, text: str) -> None:
        """Warnings of a run that is recalled from the cache."""
        progress.clear()
        sys.stderr.write(text)
        sys.stderr.flush()

    def failed(self) -> int:
        """The end of a pass that found errors."""
        self.show()
        mistakes = [item for item in self.diagnostics.errors if item.span.source >= 0]
        if mistakes and self.at_pass == 1 and self.options.message_format == "systemtap":
            self.note(f"{len(mistakes)} parse error{'s' if len(mistakes) != 1 else ''}.")
        if self.at_pass:
            self.tell_failed()
        return 1

    def tell_failed(self) -> None:
        """Say which pass failed, in SystemTap's words."""
        text = f"Pass {self.at_pass}: {_FAILED[self.at_pass]} failed."
        if self.options.message_format != "json":
            text += f"  [man error::pass{self.at_pass}]"
        self.note(text, "error")

    def verbose(self, text: str) -> None:
        """One line per pass under -v."""
        if self.options.verbose[self.at_pass - 1]:
            self.note(f"Pass {self.at_pass}: {text}")

    def note(self, text: str, severity: str = "note") -> None:
        """A line on standard error."""
        progress.clear()
        if self.options.message_format == "json":
            from stapy.diagnostics.layouts import json_line

            fields = {"severity": severity, "kind": severity, "pass": self.at_pass, "message": text}
            text = json_line(fields)
        print(text, file=sys.stderr, flush=True)

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
        if self.machine:
            self.machine.close()
        if self.folder is None or self.options.tmpdir:
            return
        if self.options.keep:
            self.note(f'Keeping temporary directory "{self.folder}"')
            return
        from shutil import rmtree

        rmtree(self.folder, ignore_errors=True)
