"""Options → a run of the five passes; the only module that knows all of them.

Each pass is a method; what a pass says is shown as soon as it ends.  A script
that was translated before is found by one key (`stapy.cache.results`) before pass 1
begins.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.arch import host_name
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import Stop
from stapy.ending import cleaning_up
from stapy.session import checks, inputs, settle
from stapy.session.passes import Passes
from stapy.terminal import progress, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stapy.ir.program import Program
    from stapy.kernel import Kernel
    from stapy.kernel.host import HostFiles
    from stapy.options import Options
    from stapy.parse.nodes import Script
    from stapy.services import Services


class Session(Passes):
    """One command."""

    ends_the_process = False  # nothing is left to do when it has ended

    def main(self) -> int:
        """Run the session and return the exit status; no traceback reaches the user."""
        # What passes 1 to 4 make is needed until their end: looking for garbage in between
        # takes a quarter of their time and finds nothing.
        gc.disable()
        # Where no memory is left at all CPython 3.11 tries for ever to make a number of 32 bytes
        # for each handler that an exception leaves: there must be some of these.
        spare = list(range(1 << 20, (1 << 20) + 512))
        try:
            status = self.run()
            if self.ends_the_process:
                gc.freeze()  # what is freed anyway is not looked through once more
        except Stop:
            status = self.failed()
        except KeyboardInterrupt:
            status = 1
        except writing.Unwritable as error:
            from stapy.diagnostics.bug_report import tell

            tell(str(error), self.options)
            status = 1
        except writing.Unheard:
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
        except MemoryError:
            spare.clear()
            raise  # an import here would need more: who called us tells it
        except Exception as error:
            from stapy.diagnostics.bug_report import our_mistake

            our_mistake(error, self.options)
            status = 1
        finally:
            gc.enable()  # after a MemoryError garbage is what is left to tell of it with
            with cleaning_up():
                progress.clear()
                self.clean_up()
        return status

    def run(self) -> int:
        """Answer what is asked, or take the five passes; return the exit status."""
        options = self.options
        status = self._answer_without_kernel()
        if status is not None:
            return status
        question = options.listing is not None or bool(options.dump)
        if not options.remotes:
            self.begin()  # else the command for each kernel does
        if options.prepare:
            from stapy.session import building

            return building.prepare(self, inputs.find_kernel(self))
        if options.remotes:
            from stapy.session import remote

            return remote.run(self)
        checks.look_in_namespaces(self)
        if options.last_pass == 5 and not question:
            checks.check_run(self)
        inputs.check_cache(self)
        self.texts = inputs.read_texts(self)
        kernel = inputs.find_kernel(self)
        checks.check_architecture(self, kernel)
        checks.look_in_guests(self, kernel)
        if question:
            return self.answer(kernel)
        return self._take_passes(kernel)

    def _answer_without_kernel(self) -> int | None:
        """Do what needs neither kernel nor passes; None when nothing of it was asked for."""
        options = self.options
        if options.clean_cache:
            self.cache.clean()
            return 0
        if options.explain:
            from stapy.diagnostics.explain import explain

            return explain(options.explain)
        if options.example and self.is_answered():
            return 0
        if options.doc is not None and self.is_documented():
            return 0
        return None

    def _take_passes(self, kernel: Kernel) -> int:
        """Take the five passes up to the last one wanted, or one that was taken before."""
        options = self.options
        if options.last_pass >= 4:
            from stapy.session import modules

            if options.message_format != "systemtap":
                settle.check_module_name(options.module_name, kernel, self.diagnostics)
            self.end_pass()
            self.open_tools(kernel)
            self.find_signer()
            recalled = modules.recall(self, kernel)
            if recalled is not None:
                checks.check_host(self, kernel)
                return self.finish(recalled, kernel, from_cache=True)
            checks.check_tree(self, kernel)
            if self.tools:
                self.tools.begin()
            from stapy.session import building

            building.prepare_kit(self, kernel)
        scripts = self.parse(kernel)
        if self.ends_with(1, "scripts", lambda: _scripts_text(scripts)):
            return 0
        services = self.services(kernel)
        scripts = self._with_more_scripts(scripts, services)
        program = self.elaborate(scripts, services)
        if self.ends_with(2, "program", lambda: _program_text(program, options)):
            return 0
        if options.vm and options.last_pass == 5:
            from stapy.session import running

            running.boot_ahead(self)
        source = self.translate(program)
        if self.ends_with(3, "C", source.text):
            return 0
        # Mistakes in the script come first, but nothing is compiled in vain.
        checks.check_host(self, kernel)
        built = self.build(source, kernel, services)
        modules.remember(self, built.path, services)
        return self.finish(built.path, kernel, from_cache=False)

    def _with_more_scripts(self, scripts: list[Script], services: Services) -> list[Script]:
        """Add what --metrics and --monitor have for scripts, both of which tell of the user's."""
        told = []
        if self.options.metrics:
            from stapy.session import metrics

            told = metrics.make(self, scripts, services)
        if self.options.monitor:
            from stapy.session import monitor

            scripts = monitor.add(self, scripts, services)
        return [*scripts, *told]

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
            from stapy.session import modules

            listed = modules.recall_list(self, kernel)
            if listed is not None:
                self.write(listed)
                return 0
        scripts = self.parse(kernel)
        return self.list_points(scripts, self.services(kernel))

    def open_tools(self, kernel: Kernel) -> None:
        """Settle where programs of pass 4 run, which is here unless --build-in says otherwise."""
        if kernel.arch != host_name() or self.options.cross_compile:
            from stapy.session import building

            self.tools = building.open_cross_tools(self, kernel)
        elif self.options.build_in:
            from stapy.session import building

            self.tools = building.open_tools(self, kernel)
        elif kernel.config.is_enabled("CONFIG_CC_IS_CLANG"):
            from stapy.build.llvm import tools_for

            self.tools = tools_for(kernel)

    def find_signer(self, loaders: Sequence[HostFiles] = ()) -> None:
        """Settle which key signs the module, if one is to.

        ``loaders`` are the machines that are to load it, none for this one.
        """
        asked = "SYSTEMTAP_SIGN" in os.environ and "SYSTEMTAP_NOSIGN" not in os.environ
        if self.options.sign is not None or asked:
            from stapy.session import signing

            self.signer = signing.find(self, loaders)

    def begin(self) -> None:
        """Obey what concerns the command as a whole: limits, options without effect, -R."""
        options = self.options
        self.at_pass = 0
        settle.set_limits(options.rlimits, self.diagnostics)
        for text in options.notices:
            self.diagnostics.warning("W0653", text)
        settle.check_defines(options.defines, self.diagnostics)
        settle.find_runtime(options, self.diagnostics)
        settle.check_tapsets(options.tapset_dirs, self.diagnostics)
        self.end_pass()

    def is_answered(self) -> bool:
        """List or show what --example asks for; False when its script is to be run."""
        from stapy.session import examples

        self.at_pass = 0
        answered = examples.answered(self.options, self.diagnostics)
        self.end_pass()
        return answered

    def is_documented(self) -> bool:
        """Print what --doc asks for; False when what -L says of the point is to follow."""
        from stapy.manual import answer

        self.at_pass = 0
        answer.answered(self.options, self.diagnostics)
        self.end_pass()
        return self.options.listing is None

    def finish(self, module: Path, kernel: Kernel, *, from_cache: bool) -> int:
        """Keep the module of pass 4 and run it; return the exit status."""
        from stapy.session import modules

        options = self.options
        if from_cache and options.verbose[3]:
            self.note(f"Pass 4: using cached {module}")
        if self.signer:
            from stapy.session import signing

            module = signing.sign(self, module, self.signer, kernel)
        if options.module_name:
            modules.keep(self, module)  # what is loaded is the one that nobody else can change
        progress.clear()
        if options.last_pass < 5:
            # A module that only the cache or the temporary folder has is named by its path.
            name = options.module_name
            writing.write(f"{name}.ko\n" if name else f"{modules.kept_copy(self, module)}\n")
            return 0
        return self.load(module, kernel)

    def load(self, module: Path, kernel: Kernel) -> int:
        """Take pass 5; return the exit status."""
        from stapy.session import running

        return running.load(self, module, kernel)

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
