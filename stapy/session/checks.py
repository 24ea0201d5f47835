"""What would stop a command is looked for before it works: this host, what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.arch import architecture, architecture_of_debian, host_name
from stapy.debuginfo import view
from stapy.paths import is_dir
from stapy.run.errors import RunError
from stapy.trust import why_untrusted

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.session.messages import PassMessages
    from stapy.session.passes import Passes


def check_architecture(session: Passes, kernel: Kernel) -> None:
    """Refuse a kernel whose modules this machine cannot run."""
    options = session.options
    is_run = options.last_pass == 5 and options.listing is None and not options.dump
    if kernel.arch == host_name() or options.vm or options.elsewhere or not is_run:
        return
    session.at_pass = 5
    session.refuse(
        "E0501",
        f"this host cannot load modules: kernel {kernel.release} is for {kernel.arch}, "
        f"this machine is {host_name()}",
        kind="run error",
        hint=f"--vm={kernel.release} runs it in a virtual machine; -r {kernel.release} -p4 -m NAME "
        "makes the module, and stapy-run NAME.ko runs it on such a machine",
    )


def look_in_guests(session: PassMessages, kernel: Kernel) -> None:
    """Let names of programs mean those of the guest, where it has others than this machine."""
    machine = architecture(kernel.arch)
    if not session.options.vm or kernel.arch == host_name() or machine is None:
        return
    from stapy.kernel.userland import root_of

    tree = root_of(machine.debian)
    if is_dir(tree):  # else the guest does not boot, and says how to get it
        session.options.tree = str(tree)
        view.look_in_tree(session.options.tree)


def check_tree(session: PassMessages, kernel: Kernel) -> None:
    """Say whose programs will be run with our rights, unless the user named the tree."""
    tree = kernel.build_dir
    if tree is None or session.options.release or session.options.vm or session.options.sysroot:
        return
    why = why_untrusted(tree)
    if why:
        session.warn_here(
            "W0661",
            f"the kernel's build tree '{tree}' is used, but others can change it: {why}",
        )


def check_run(session: PassMessages) -> None:
    """Refuse what pass 5 could not do; a virtual machine has the programs that are here."""
    options = session.options
    if options.elsewhere:
        return  # stapy-run looks at what is there
    if options.vm:
        from stapy.vm.errors import VmError
        from stapy.vm.qemu import check

        try:
            check(
                architecture(options.architecture) or architecture_of_debian(options.release or "")
            )
        except VmError as error:
            session.at_pass = 5
            session.refuse("E0590", str(error), kind="run error", hint=error.hint)
        _check_streams(session)
        return
    from stapy.run import mark

    taken = mark.refusal(options.module_name) if options.module_name else ""
    if taken:
        session.at_pass = 5
        session.refuse("E0503", taken, kind="run error")
    _check_streams(session)


def _check_streams(session: PassMessages) -> None:
    """Refuse a command that cannot be run and a file that cannot be written."""
    options = session.options
    if not (options.command is not None or options.output or options.monitor or options.plot):
        return
    from stapy.run import beforehand, screen

    try:
        if options.monitor and not options.vm and screen.has_terminal():
            screen.check()
        beforehand.check(options.command, options.output, bool(options.rotate))
        if options.plot:
            beforehand.check(None, options.plot, False)
    except RunError as error:
        session.at_pass = 5
        session.refuse("E0502", str(error), kind="run error")


def look_in_namespaces(session: PassMessages) -> None:
    """Let names of programs mean what they mean for the process of --target-namespaces."""
    pid = session.options.namespaces
    view.look_in(pid)
    if pid is None:
        return
    from stapy.run import beforehand, inside

    why = "in a virtual machine it is another one" if session.options.vm else ""
    gone = "" if why else beforehand.closed_to_us(pid)
    hint = "stapy -p4 -m NAME makes the module; in the guest, stapy-run -N PID NAME.ko runs it"
    if gone:
        hint = beforehand.namespaces_hint(pid)
    if why or gone:
        session.refuse(
            "E0504",
            f"Couldn't use the name spaces of process {pid}: {why or gone}",
            kind="run error",
            hint=hint,
        )
    try:
        session.options.namespaces_of = inside.identity(pid)
    except OSError as error:
        why = error.strerror or str(error)
        session.refuse(
            "E0504", f"Couldn't use the name spaces of process {pid}: {why}", kind="run error"
        )


def check_host(session: Passes, kernel: Kernel) -> None:
    """Say in one line why this host cannot load modules, and offer the way out."""
    from stapy.session import signing

    reasons = obstacles(session, kernel)
    if reasons:
        session.at_pass = 5
        session.refuse(
            "E0501",
            "this host cannot load modules: " + "; ".join(reasons),
            kind="run error",
            hint=signing.way_out(session, kernel, reasons),
        )


def obstacles(session: Passes, kernel: Kernel) -> list[str]:
    """List why this host cannot load the module; nothing when it will not be asked to."""
    options = session.options
    is_here = not (options.vm or options.elsewhere or options.last_pass < 5)
    signer = session.signer.number if session.signer else None
    if not is_here:
        return []
    from stapy.kernel.host import HostFiles
    from stapy.run import sudo

    reasons = HostFiles().obstacles(kernel, signer, by_sudo=sudo.is_needed())
    why = sudo.obstacle()
    return [why, *reasons] if why else reasons
