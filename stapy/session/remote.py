"""``--remote``: a module for each kernel among the hosts, run on all of them at once."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from shutil import rmtree
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from stapy.arch import ARCHITECTURES, architecture, host_name, spelling
from stapy.ending import heard
from stapy.kernel.host import FilesThere
from stapy.record import Record, replace
from stapy.remote import ask, hosts, parcel, ssh
from stapy.remote.crowd import Crowd
from stapy.remote.sweep import folder_name, sweep
from stapy.run import beforehand, picture
from stapy.run.elf import ModuleFile
from stapy.run.errors import RunError
from stapy.run.options import RunOptions
from stapy.run.output import make_sinks
from stapy.session import Session, inputs, signing
from stapy.session.running import run_options
from stapy.terminal import progress
from stapy.timing import PassTimer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.build.sign import SigningKey
    from stapy.kernel import Kernel
    from stapy.kernel.host import HostFiles
    from stapy.options import Options
    from stapy.remote.ask import HostFacts
    from stapy.remote.hosts import RemoteHost
    from stapy.remote.ssh import Connection

_CLOSING_SECONDS = 5.0  # nobody waits longer for a connection that does not end
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Made(Record):
    """A module as it is sent."""

    name: str
    image: bytes
    options: RunOptions


class RemoteTarget(NamedTuple):
    """What hosts share a module of: a kernel, and the architecture unless it is this machine's."""

    release: str
    architecture: str

    def __str__(self) -> str:
        """Name it in a message."""
        return f"{self.release} ({self.architecture})" if self.architecture else self.release


class OneKernel(Session):
    """The command for one kernel of the hosts, which ends with its module.

    ``hosts`` names them in a message, ``signer`` is the key for the modules of all.
    """

    made: Made | None = None

    def __init__(self, options: Options, hosts: str, signer: SigningKey | None) -> None:
        super().__init__(options)
        self._hosts = hosts
        self.signer = signer

    def find_signer(self, loaders: Sequence[HostFiles] = ()) -> None:
        """Do nothing: the key was found before, with all hosts in sight."""

    def show(self) -> None:
        """Show what the pass has reported; of a mistake that no script has, whom it concerns."""
        for item in self.diagnostics.items[self.shown :]:
            if item.severity == item.ERROR and item.span.source < 0:
                item.notes.append(f"this is for {self._hosts}")
        super().show()

    def load(self, module: Path, kernel: Kernel) -> int:
        """Keep the module in memory: the folder that it lies in ends with this session."""
        file = ModuleFile(str(module))
        if file.manifest().get("input"):
            self.at_pass = 5
            self.refuse(
                "E0510",
                "the script reads standard input, which is not handed on to other hosts",
                kind="run error",
                hint="run it there: ssh -t HOST stapy-run MODULE.ko",
            )
        self.made = Made(file.name, module.read_bytes(), run_options(self, module))
        return 0


class Fleet:
    """One command on many hosts."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.options = session.options
        self.hosts = [hosts.parse(uri, at) for at, uri in enumerate(self.options.remotes)]
        # Below /tmp in any case: the name of a socket is limited to 108 bytes.
        self.folder = Path("/tmp", folder_name())
        self.connections: dict[int, Connection] = {}
        self.failed = False
        self.interrupted = False
        self._before: dict[int, Any] = {}

    def main(self) -> int:
        """Do it all and return the exit status."""
        for number in heard(_SIGNALS):
            self._before[number] = signal.signal(number, self._interrupt)
        try:
            sweep()
            self.folder.mkdir(mode=0o700)
            return self._work()
        finally:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)  # nothing of ours may stay behind
            self._close()
            for number, handler in self._before.items():
                signal.signal(number, handler)

    def _work(self) -> int:
        session = self.session
        self._check_output()
        texts = inputs.read_texts(session)
        facts = self._ask()
        made = self._build(facts, texts[0][1] if self.options.script_file == "-" else None)
        session.at_pass = 5
        if self.options.last_pass == 5 and made:
            session.verbose("starting run.")
            timer = PassTimer()
            sys.stdout.flush()
            self._run(facts, made)
            session.verbose(f"run completed in {timer.spent()}.")
        if self.failed and self.options.last_pass == 5:
            session.tell_failed()
        return 1 if self.failed else 0

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        before = self._before[number]
        if not callable(before):
            raise KeyboardInterrupt
        before(number, frame)  # which remembers the number for our exit status

    def _check_output(self) -> None:
        options = self.options
        try:
            beforehand.check(None, options.output, bool(options.rotate))
        except RunError as error:
            self.session.at_pass = 5
            self.session.refuse("E0502", str(error), kind="run error")

    def _lose(self, host: RemoteHost, why: str, hint: str = "") -> None:
        """Name a host that has failed; the others go on."""
        self.failed = True
        session = self.session
        text = f"{_named(host)}: {why}"
        session.diagnostics.error("run error", "E0510", text, hint=hint)
        session.at_pass = 5
        session.show()

    # --- what the hosts are ------------------------------------------------

    def _ask(self) -> dict[int, HostFacts]:
        """Find the hosts that can be reached and can run a module, by number."""
        for host in self.hosts:
            try:
                self.connections[host.number] = ssh.connect(host, self.folder)
            except ssh.SshError as error:
                self._lose(host, str(error))
        there = list(self.connections.values())
        may_ask = os.isatty(0) and os.isatty(2)
        names = FilesThere.NAMES
        answers = ask.ask(there, self.folder, files=names, may_ask=may_ask, tell=progress.tell)
        progress.clear()
        for number in sorted(answers.failures):
            why = answers.failures[number]
            hint = ask.way_in(self.connections[number], why)
            self._lose(self.hosts[number], why, hint)
        for number, facts in sorted(answers.facts.items()):
            self.session.verbose(f"host {number} has {facts.release} {facts.machine}")
            why = self._no_module_for(facts)
            if why:
                self._lose(self.hosts[number], why)
                del answers.facts[number]
        self._leave_out_unwilling(answers.facts)
        return answers.facts

    def _leave_out_unwilling(self, facts: dict[int, HostFacts]) -> None:
        """Name the hosts whose kernels will take no module of ours, before one is made."""
        if not facts or self.options.last_pass < 4:
            return
        files = {number: FilesThere(one.files) for number, one in sorted(facts.items())}
        self.session.find_signer(list(files.values()))
        key = self.session.signer
        for number, one in files.items():
            reasons = one.refusals(key.number if key else None)
            if self.options.last_pass < 5:  # they may be taken after the next boot, or elsewhere
                reasons = [one.without_modules()] if one.without_modules() else []
            if reasons:
                hint = signing.way_in(key) if reasons == one.demands() else ""
                self._lose(self.hosts[number], "; ".join(reasons), hint)
                del facts[number]

    def _no_module_for(self, facts: HostFacts) -> str:
        """Say why the machine of a host takes none of the modules that are made, or ""."""
        found, wanted = architecture(facts.machine), self.options.architecture
        if found is None:
            return f"it is a {facts.machine}; modules are made for {' and '.join(ARCHITECTURES)}"
        if wanted and found.name != wanted:
            return f"it is a {facts.machine}, {self.options.architecture_by} says {wanted}"
        return ""

    # --- passes 1 to 4 -------------------------------------------------------

    def _build(self, facts: dict[int, HostFacts], given: str | None) -> dict[RemoteTarget, Made]:
        """Take the passes once for each kernel and return the modules."""
        found: dict[RemoteTarget, Made] = {}
        targets = sorted({_target(one) for one in facts.values()})
        if self.options.module_name and len(targets) > 1:
            self.session.warn_here(
                "W0659",
                f"{self.options.module_name}.ko is left for the kernel {targets[-1]} only:"
                " the hosts have several",
            )
        for at, target in enumerate(targets):
            wanted = _for_target(self.options, target, given, is_first=at == 0)
            if wanted.tmpdir is not None and len(targets) > 1:
                wanted.tmpdir = f"{wanted.tmpdir}/{''.join(target)}"
            its = [self.hosts[one] for one in sorted(facts) if _target(facts[one]) == target]
            build = OneKernel(wanted, _named(*its), self.session.signer)
            status = build.main()
            if self.interrupted:
                raise KeyboardInterrupt
            if build.made is not None and status == 0:
                found[target] = build.made
                continue
            if status == 0 and self.options.last_pass < 5:
                continue
            for host in its:
                self._lose(host, f"there is no module for its kernel {target}")
        return found

    # --- pass 5 ----------------------------------------------------------------

    def _run(self, facts: dict[int, HostFacts], made: dict[RemoteTarget, Made]) -> None:
        options = self.options
        size, keep = RunOptions(output=options.output, rotate=options.rotate or "").rotation()
        try:
            (sink,) = make_sinks([], options.output, size, keep)
            crowd = Crowd(sink, self._lose, prefixes=options.remote_prefix)
            files = parcel.runner()
            ready = [number for number in sorted(facts) if _target(facts[number]) in made]
            try:
                # A row of files has whole lines, when programs are to read them.
                is_alone = len(ready) == 1 and not (options.format and options.rotate)
                for number in ready:
                    self._begin(crowd, number, facts[number], files, made, is_alone)
                crowd.run()
            finally:
                crowd.close()
            sink.close()
        except RunError as error:
            self.session.refuse("E0502", str(error), kind="run error")

    def _begin(
        self,
        crowd: Crowd,
        number: int,
        facts: HostFacts,
        files: dict[str, bytes],
        made: dict[RemoteTarget, Made],
        is_alone: bool,
    ) -> None:
        host, module = self.hosts[number], made[_target(facts)]
        place = parcel.folder()
        file = f"{module.name}.ko"
        run = module.options
        words = RunOptions(**{name: getattr(run, name) for name in RunOptions.__slots__})
        words.module = f"{place}/{file}"
        words.parameters = self._told(host, run)
        sent = parcel.pack(
            place,
            {**files, file: module.image},
            [f"{place}/{parcel.RUNNER}", *words.words()],
        )
        command = self.connections[number].command(parcel.command(facts))
        crowd.begin(host, command, sent, is_alone=is_alone)

    def _told(self, host: RemoteHost, run: RunOptions) -> list[str]:
        """List a module's parameters: what it was given, which host it is on, how it draws."""
        told = [*run.parameters, f"stapy_remote={host.number}", f"stapy_remote_uri={host.uri}"]
        # The terminal is ours; hosts have pipes. A file is none, and prefixes take of its width.
        if self.options.output is None and not self.options.remote_prefix:
            told += picture.parameters(run, picture.NAMES)
        return told

    def _close(self) -> None:
        """End the connections that are ours, and leave no file."""
        import subprocess

        closing = []
        for connection in self.connections.values():
            words = connection.closing()
            if words and (self.folder / str(connection.host.number)).exists():
                closing.append(
                    subprocess.Popen(
                        words,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                )
        end = time.monotonic() + _CLOSING_SECONDS
        for process in closing:
            try:
                process.wait(max(end - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                process.kill()  # what it asked for ends by itself, once nobody uses it
                process.wait()
        rmtree(self.folder, ignore_errors=True)


def run(session: Session) -> int:
    """Run the script on the hosts of the command and return the exit status."""
    return Fleet(session).main()


def _named(*found: RemoteHost) -> str:
    """Name hosts as all messages do."""
    return ", ".join(f"host {host.number} ({host.uri})" for host in found)


def _target(facts: HostFacts) -> RemoteTarget:
    """Name the module that a host takes."""
    name = spelling(facts.machine)
    return RemoteTarget(facts.release, "" if name == host_name() else name)


def _for_target(
    options: Options, target: RemoteTarget, given: str | None, *, is_first: bool
) -> Options:
    """Make the options of the passes for one kernel of the hosts."""
    changed: Options = replace(
        options,
        remotes=[],
        elsewhere=True,
        release=target.release,
        architecture=target.architecture or options.architecture,
        notices=options.notices if is_first else [],
    )
    if given is not None:  # standard input was read once, for all kernels
        changed.script_file, changed.script_text = None, given
    return changed
