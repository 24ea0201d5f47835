"""Pass 4 around the compiler: the kit made ahead, types of headers, ``--build-in``'s container."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from stapy.arch import ARCHITECTURES, architecture
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.paths import data_dir
from stapy.session.checks import check_host, obstacles
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.build.daemon import ContainerError
    from stapy.build.headers import HeaderCompiler
    from stapy.build.tools import Tools
    from stapy.kernel import Kernel
    from stapy.session import Session
    from stapy.session.passes import Passes


def open_cross_tools(session: Session, kernel: Kernel) -> Tools:
    """Choose the compiler for a kernel of another architecture than this machine's."""
    from stapy.build.cross import CrossTools

    options = session.options
    machine = architecture(kernel.arch)
    if machine is None:
        why, hint = f"modules are made for {' and '.join(ARCHITECTURES)} only", ""
    elif options.build_in:
        why = "containers are those of this machine's architecture"
        hint = f"without --build-in, {machine.cross}gcc of this machine is taken"
    elif kernel.config.is_enabled("CONFIG_CC_IS_CLANG"):
        why, hint = f"{kernel.compiler} has built it, and gcc makes modules for others", ""
    else:
        prefix = options.cross_compile or os.environ.get("CROSS_COMPILE", "")
        return CrossTools(machine, prefix, kernel.build_dir)
    session.at_pass = 4
    session.refuse(
        "E0408",
        f"cannot build for kernel {kernel.release}, which is for {kernel.arch}: {why}",
        kind="build error",
        hint=hint,
    )


def open_tools(session: Session, kernel: Kernel) -> Tools:
    """Open the container in which the module is made; it starts when it is needed."""
    from stapy.build import images
    from stapy.build.daemon import ContainerError, Docker

    options = session.options
    runtime = Path(options.runtime_dir) if options.runtime_dir else data_dir("runtime")
    try:
        choice = images.choose(options.build_in, kernel, may_be_another=not options.elsewhere)
        folder = session.work_folder()
        docker = Docker()  # nothing is said of images where no daemon answers
        if choice.reason:
            session.note(f"building in {choice.image}: {choice.reason}")
        return images.open_container(choice, kernel, runtime.absolute(), folder, docker)
    except ContainerError as error:
        refuse(session, error)


def prepare(session: Session, kernel: Kernel) -> int:
    """Make the image and return the exit status."""
    from stapy.build import images
    from stapy.build.daemon import ContainerError

    def say(text: str) -> None:
        progress.clear()
        session.note(text)

    try:
        choice = images.choose(session.options.build_in, kernel)
        made = images.prepare(choice, say)
    except ContainerError as error:
        refuse(session, error)
    session.note(f"{choice.image} is ready" if made else f"{choice.image} was here already")
    return 0


def refuse(session: Passes, error: ContainerError) -> NoReturn:
    """End the command: there is no container to build in, or none that is to be believed."""
    session.at_pass = 4
    session.refuse(
        "E0408",
        f"cannot build in a container: {error}",
        kind="build error",
        hint=error.hint,
    )


def compile_headers(session: Passes, kernel: Kernel, spec: str) -> Path | None:
    """Compile ``kernel<a.h>`` or ``<a.h>`` to an object with types; None (reported) if bad."""
    from stapy.build.headers import is_headers, is_of_kernel

    if not is_headers(spec):
        return None
    what = f"types of {spec}"
    if is_of_kernel(spec) and _is_left_out(session, kernel, what):
        return None
    return _of_headers(session, kernel, what, lambda compiler: compiler.types(spec))


def compile_trace_header(
    session: Passes, kernel: Kernel, header: Path, points: list[str]
) -> Path | None:
    """Compile a trace header to an object that knows its points; None (reported) if bad.

    A list without variables asks for no parameters: nothing is compiled for it.
    """
    options = session.options
    if options.dump or (options.listing is not None and not options.listing_variables):
        return None
    what = f"parameters of the tracepoints of {header}"
    if _is_left_out(session, kernel, what):
        return None
    progress.tell(f"compiling {header.name} for what its tracepoints pass")
    return _of_headers(session, kernel, what, lambda compiler: compiler.points(header, points))


def _is_left_out(session: Passes, kernel: Kernel, what: str) -> bool:
    """Tell, and report, whether the session runs no makefiles of this kernel."""
    why = session.why_not_made(kernel)
    if why:
        session.diagnostics.warning("W0682", f"no {what}: {why}")
    return bool(why)


def _of_headers(
    session: Passes, kernel: Kernel, what: str, make: Callable[[HeaderCompiler], Path]
) -> Path | None:
    """Have an object made of headers; None (reported as none of ``what``) if that fails."""
    from stapy.build.daemon import ContainerError
    from stapy.build.headers import HeaderCompiler, HeaderError
    from stapy.build.kit import KitError
    from stapy.build.tools import HERE
    from stapy.debuginfo.facts import kernel_facts

    def facts() -> str:
        return kernel_facts(kernel, session.debuginfo.btf, kernel.exports)

    if session.options.listing is None and not session.options.dump:
        check_host(session, kernel)  # nothing is compiled in vain
    folder = session.work_folder()
    compiler = HeaderCompiler(
        kernel, session.options, session.cache, folder, facts, session.tools or HERE
    )
    try:
        return make(compiler)
    except (HeaderError, KitError) as error:
        session.diagnostics.warning("W0682", f"no {what}: {error}")
        return None
    except ContainerError as error:
        refuse(session, error)


def prepare_kit(session: Session, kernel: Kernel) -> None:
    """Let the build kit be made meanwhile, unless pass 5 is known to refuse."""
    from stapy.build.ahead import prepare
    from stapy.build.tools import HERE
    from stapy.debuginfo.facts import kernel_facts

    def facts() -> str:
        btf = Debuginfo(kernel, session.cache, Diagnostics(SourceMap())).btf
        return kernel_facts(kernel, btf, kernel.exports)

    if not obstacles(session, kernel):
        session.kit = prepare(kernel, session.options, session.cache, facts, session.tools or HERE)
