"""Pass 5 in a machine of its own: the same module, the same options, the same streams."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from stapy.diagnostics.render import use_color
from stapy.run import picture
from stapy.run.elf import ModuleFile
from stapy.run.input import KEYS, Terminal, is_taken
from stapy.run.messages import MessagePrinter
from stapy.run.options import RunOptions
from stapy.run.output import open_file, unwritable
from stapy.vm.classify import EMULATOR, excerpt
from stapy.vm.errors import VmError
from stapy.vm.machine import (
    COMPLAINED,
    EXITED,
    PANIC,
    SHARE,
    TIMEOUT,
    Machine,
    VmResult,
)
from stapy.vm.mirror import Mirror
from stapy.vm.reader import OutputReader

AGENT = 1  # the process of `stapy.vm.agent`
GRACE = 60.0  # seconds that a run with -T may take beyond it


def prepare(release: str | None, sysroot: str | None = None, wanted: str = "") -> Machine:
    """Start a machine that boots while the caller makes the module; the caller must close it.

    ``wanted`` is an architecture in SystemTap's spelling, this machine's without it.
    """
    cpus = min(2, os.cpu_count() or 1)
    machine = Machine(release, cpus=cpus, sysroot=sysroot, wanted=wanted)
    try:
        machine.start()
    except BaseException:
        machine.close()
        raise
    return machine


def run_module(module_path: str, machine: Machine, options: RunOptions) -> int:
    """Run a module in a machine that `prepare` gave, and close it.

    Gives the exit status of ``stapy-run`` there, or 1.  The guest sees the host's
    files at their own paths; what ``-o`` names is written by the guest into
    the share and copied out while it grows.
    """
    with machine:
        mirror = None
        words = RunOptions(**{name: getattr(options, name) for name in RunOptions.__slots__})
        if options.output:
            folder = folder_of(options.output, in_turns=bool(options.rotate))
            mirror = Mirror(machine.share / "out", folder)
            words.output = f"{SHARE}/out/{Path(options.output).name}"
        if options.record is not None:
            words.record = f"{SHARE}/record"
        if options.color == "auto":
            words.color = "always" if use_color("auto") else "never"
        words.module = machine.push(Path(module_path))
        # Scripts do not see what process 1 does to carry the streams of this run.
        module = ModuleFile(module_path)
        words.parameters = [*words.parameters, f"stapy_hidden={AGENT}"]
        # The terminal is ours; the guest has pipes.
        words.parameters += picture.parameters(options, module.parameters)
        kind = _input(module, options)
        output = OutputReader(1)
        with keys_of(0) if kind == KEYS else nullcontext():
            result = machine.run(
                [*machine.consumer_command(), *words.words()],
                stdin=0 if (options.command or kind) and _is_readable(0) else None,
                stdout=output,
                stderr=OutputReader(2),
                timeout=options.timeout + GRACE if options.timeout else 0,
                forward_signals=True,
                tick=mirror.copy if mirror else None,
            )
        if mirror:
            mirror.copy()
        if options.record is not None:
            _take_record(machine.share / "record", options.record)
        status = _report(result, options)
        if output.error:
            _printer(options).error(unwritable(output.error))
            return status or 1
        return status


def _take_record(there: Path, here: str) -> None:
    """Bring what the guest has recorded to where it is wanted."""
    if not there.exists():
        return  # the session did not begin
    try:
        with there.open("rb") as source, os.fdopen(open_file(here), "wb") as target:
            while block := source.read(1 << 20):
                target.write(block)
    except OSError as error:
        raise VmError(f"Couldn't write '{here}': {error.strerror}") from None


def _input(module: ModuleFile, options: RunOptions) -> str:
    """Tell how the script wants our standard input, "" when it does not."""
    manifest = module.manifest()
    return str(manifest["input"]) if is_taken(manifest, options) else ""


@contextmanager
def keys_of(fd: int) -> Iterator[None]:
    """Hold a terminal so that it gives each key at once; the guest has pipes only."""
    terminal = Terminal(fd, True) if _is_readable(fd) and os.isatty(fd) else None
    try:
        if terminal:
            terminal.take()
        yield
    finally:
        if terminal:
            terminal.close()


def folder_of(output: str, *, in_turns: bool = False) -> Path:
    """Return where a file of ``-o`` shall appear; its name may have marks of strftime.

    With ``in_turns`` there will be several, each with a number behind the name.
    """
    path = Path(output).absolute()
    try:
        if "%" in output or in_turns:
            path = path.parent
            next(path.iterdir(), None)
        else:
            os.close(open_file(str(path), is_emptied=False))
            path = path.parent
    except OSError as error:
        raise VmError(f"Couldn't open output file '{output}': {error.strerror}") from None
    return path


def _printer(options: RunOptions) -> MessagePrinter:
    return MessagePrinter(options.color, as_json=options.message_format == "json")


def _report(result: VmResult, options: RunOptions) -> int:
    """Tell the user about an end that is no ordinary one."""
    texts = {
        PANIC: "the guest's kernel crashed",
        TIMEOUT: "the guest did not end in time",
        COMPLAINED: "the guest's kernel complained",
    }
    if result.kind == EXITED:
        return result.status
    messages = _printer(options)
    what = texts[result.kind]
    if any(kind == EMULATOR for kind, _ in result.complaints):
        what = "the emulator failed: the guest's registers hold what no processor puts there"
    messages.error(f"{what}; its log is {result.log_path}")
    messages.log(excerpt(result.dmesg))
    return result.status if result.status > 0 else 1


def _is_readable(fd: int) -> bool:
    """Tell whether we may read: a terminal stops a job of the background that tries."""
    try:
        return not os.isatty(fd) or os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
