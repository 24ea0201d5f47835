"""Pass 5 as a whole: load a module, start it, move its output, stop it, unload it."""

from __future__ import annotations

import os

from . import beforehand, fit, input, inside, loading, picture, render, screen
from .control import Channel
from .daemon import in_background
from .elf import ModuleFile
from .errors import RunError
from .hands import Hands
from .lacks import advice, lacks
from .messages import MessagePrinter
from .options import RunOptions
from .output import Sink, make_sinks
from .session import ModuleSession
from .signals import Signals
from .target import TargetProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional

    from .ground.manifest import Manifest, TableDemand
    from .metrics import MetricServer
    from .replaced import Replacements
    from .supply import Supplier


def run(module_path: str, options: RunOptions, hands: Optional[Hands] = None) -> int:
    """Run a module as ``options`` say; return the exit status of the session.

    ``hands`` do what only root can, where we are not root.
    """
    hands = hands or Hands()
    if options.effect:
        return _compare(module_path, options, hands)
    if options.daemon and not options.delete:
        return in_background(lambda armed: _obey(module_path, options, hands, armed))
    return _obey(module_path, options, hands)


def _compare(module_path: str, options: RunOptions, hands: Hands) -> int:
    """Run sessions of the module and runs without any, to compare what a command takes."""
    from . import effect

    messages = _printer(options)
    is_first = True
    with Signals() as signals:

        def session(once: RunOptions, make_target: Callable[[str, bool], TargetProcess]) -> int:
            nonlocal is_first
            told = _printer(once)
            told.is_quiet, is_first = not is_first, False
            _run(ModuleFile(module_path), once, told, signals, hands, make_target=make_target)
            return told.errors

        try:
            return effect.measure(options, session, messages, signals)
        except RunError as error:
            messages.error(str(error))
            return 1


def _printer(options: RunOptions) -> MessagePrinter:
    return MessagePrinter(
        options.color, options.warnings, options.verbose, options.message_format == "json"
    )


def _obey(
    module_path: str,
    options: RunOptions,
    hands: Hands,
    armed: Optional[Callable[[], None]] = None,
) -> int:
    messages = _printer(options)
    with Signals() as signals:
        try:
            if options.delete:
                return hands.delete(module_path, messages)
            if options.attach:
                return _attach(module_path, options, messages, signals, hands, armed)
            return _run(ModuleFile(module_path), options, messages, signals, hands, armed)
        except RunError as error:
            messages.error(str(error))
            return 1


def _run(
    module: ModuleFile,
    options: RunOptions,
    messages: MessagePrinter,
    signals: Signals,
    hands: Hands,
    armed: Optional[Callable[[], None]] = None,
    make_target: Callable[[str, bool], TargetProcess] = TargetProcess,
) -> int:
    if not module.is_ours():
        raise RunError(f"'{module.path}' is not a module that stapy made")
    if not module.is_named():
        raise RunError(f"module '{module.path}' is damaged: it has two names")
    other = fit.other_protocol(module)
    if other:
        raise RunError(f"module '{module.path}' {other}")
    if not options.rename:
        loading.refuse_foreign(module.name)
    hands.check(module)
    parameters = loading.parameters(module, options)
    beforehand.check(options.command, options.output, bool(options.rotate))
    beforehand.check_namespaces(module.manifest(), options.namespaces)
    warning = beforehand.target_warning(options.target)
    if warning:
        messages.warning(warning)
    server = _listen(options, bool(options.metrics) and _tells(module), module.path)
    shown = screen.make(module, options, messages)
    target = None
    try:
        if options.command:
            target = make_target(options.command, not input.is_taken(module.manifest(), options))
        name, channel = hands.insert(module, parameters, messages, options.rename)
        if name != module.name and options.detach and not options.rename:
            messages.log(f"'{module.name}' is in the kernel already: this session is '{name}'")
        if shown:
            shown.show(name)
        if server:
            server.serve(name, messages)
        detached = _converse(
            name, channel, options, messages, signals, hands, target, module, armed
        )
        if not detached:
            messages.note(f"removed {name}")
    finally:
        if target:
            target.cancel()
        if server:
            server.close()
        if shown:
            shown.close()
    return _status(messages, target)


def _converse(
    name: str,
    channel: Channel,
    options: RunOptions,
    messages: MessagePrinter,
    signals: Signals,
    hands: Hands,
    target: Optional[TargetProcess],
    fresh: Optional[ModuleFile],
    armed: Optional[Callable[[], None]] = None,
) -> bool:
    """Run the session with a module: ``fresh``, whose file this is, or None for a running one.

    A fresh one is started. Returns True when it was left running, else it is unloaded.
    """
    sinks: List[Sink] = []
    session: Optional[ModuleSession] = None
    try:
        size, keep = options.rotation()
        sinks = make_sinks(channel.cpus, options.output, size, keep)
        session = ModuleSession(channel, sinks, messages, options, signals)
        session.output.renderer = render.make(channel.records, name, options, messages)
        complaint = picture.unheeded(options, channel.records is not None or bool(channel.cpus))
        if complaint:
            messages.warning(complaint)
        session.target = target
        session.armed = armed
        session.input = input.make(name, fresh.manifest() if fresh else None, options, messages)
        if fresh:
            _start(session, fresh.manifest(), hands)
        else:
            session.supplier = _make_supplier(channel, {"names": True}, messages)
            session.go_on()
            if armed:
                armed()
        session.loop()
    finally:
        if session and session.input:
            session.input.end()
        if session and session.supplier:
            session.supplier.end()
        if session and session.files:
            session.files.end()
        hands.end(name, channel, bool(session and session.detached))
        if session and session.detached:
            session.write_out()
        for sink in sinks:
            sink.close()
    if not session.detached:
        session.tell_untaken()
    session.wait_for_system()
    if session.detached:
        messages.log(
            f'\nDisconnecting from systemtap module.\nTo reconnect, type "stapy-run -A {name}"'
        )
    return session.detached


def _start(session: ModuleSession, manifest: Manifest, hands: Hands) -> None:
    """Hand a fresh module what it needs, and tell it to begin."""
    options, channel, target = session.options, session.channel, session.target
    hands.hand_over(channel, manifest, options.namespaces)
    session.files = _watch(manifest, options, session.messages)
    # What was opened was its files if it still is the same process.
    beforehand.check_namespaces(manifest, options.namespaces)
    session.supplier = _supply(channel, manifest, options, session.messages)
    spaces = inside.process_of(manifest, options.namespaces)
    session.start(target.pid if target else options.target, spaces)


def _is_there(name: str) -> bool:
    from .metrics import FILE

    return os.path.exists(f"/proc/systemtap/{name}/{FILE}")


def _tells(module: ModuleFile) -> bool:
    from .metrics import is_told

    return is_told(module.manifest())


def _listen(options: RunOptions, tells: bool, name: str) -> Optional[MetricServer]:
    """Listen where metrics are wanted, before anything is loaded; None where they are not."""
    if not options.metrics:
        return None
    if not tells:
        raise RunError(f"'{name}' was made without --metrics")
    from .metrics import MetricServer

    return MetricServer(options.metrics)


def _watch(
    manifest: Manifest, options: RunOptions, messages: MessagePrinter
) -> Optional[Replacements]:
    """Watch whether the files of places are replaced; None for scripts without."""
    if not manifest.get("files"):
        return None
    from .replaced import Replacements

    return Replacements(manifest, options.namespaces, messages.warning)


def _supply(
    channel: Channel, manifest: Manifest, options: RunOptions, messages: MessagePrinter
) -> Optional[Supplier]:
    """Begin with the tables that user stacks of the first hits need; None for scripts without."""
    wanted = manifest.get("objects")
    if not wanted:
        return None
    supplier = _make_supplier(channel, wanted, messages)
    files = manifest.get("files") or {}
    places = [inside.place(path, manifest, options.namespaces) for path in sorted(files)]
    supplier.begin(places, options.command or "", options.target)
    return supplier


def _make_supplier(channel: Channel, wanted: TableDemand, messages: MessagePrinter) -> Supplier:
    """Make what supplies tables; imported here: few sessions need it, and it is slow."""
    from .supply import Supplier

    if lacks("lzma"):
        messages.note(f"names that a program has packed in itself are not read: {advice('lzma')}")
    return Supplier(channel, wanted, messages.warning, messages.progress)


def _status(messages: MessagePrinter, target: Optional[TargetProcess]) -> int:
    complaint = target.complaint() if target else ""
    if complaint:
        messages.warning(complaint)
    return 1 if messages.errors or complaint else 0


def _attach(
    name: str,
    options: RunOptions,
    messages: MessagePrinter,
    signals: Signals,
    hands: Hands,
    armed: Optional[Callable[[], None]] = None,
) -> int:
    name = loading.ours(loading.bare_name(name))
    tells = bool(options.metrics) and _is_there(name)
    server = _listen(options, tells, name)
    try:
        name, channel = hands.attach(name)
        if server:
            server.serve(name, messages)
        _converse(name, channel, options, messages, signals, hands, None, None, armed)
    finally:
        if server:
            server.close()
    return _status(messages, None)
