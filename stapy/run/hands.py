"""Whose hands put a module into the kernel and take it out: our own, here.

Those of a keeper, for a consumer that is not root, are in `member`.
"""

from __future__ import annotations

from . import kernel, loading, programs
from .control import Channel, folder_of
from .errors import RunError
from .naming import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Tuple

    from .elf import ModuleFile
    from .ground.manifest import Manifest
    from .messages import MessagePrinter


class Hands:
    """What only root can do for a session; each raises `RunError` when it cannot be done."""

    def may_have(self, name: str) -> bool:
        """Tell whether a module that is loaded may be attached to and removed."""
        return True

    def check(self, module: ModuleFile) -> None:
        """Refuse a module that cannot be loaded, before anything else is done for it."""
        kernel.check(module)

    def insert(
        self, module: ModuleFile, words: List[str], messages: MessagePrinter, must_rename: bool
    ) -> Tuple[str, Channel]:
        """Load a module with parameters; return its name and its files."""
        with Turn():
            self.refuse_more()
            return loading.insert_and_open(module, words, messages, must_rename, self.may_have)

    def refuse_more(self) -> None:
        """Raise `RunError` where there are as many sessions as there may be; asked in our turn."""

    def hand_over(self, channel: Channel, manifest: Manifest, namespaces: int) -> None:
        """Let a module hold the programs that its probes name."""
        programs.hand_over(channel, manifest, namespaces)

    def attach(self, name: str) -> Tuple[str, Channel]:
        """Open the files of a session that runs; return its name and them."""
        name = loading.ours(loading.bare_name(name))
        if not self.may_have(name):
            raise RunError(self.refusal(name))
        channel = Channel.open(folder_of(name))
        if not self.may_have(name):  # asked again, now that it cannot become another one
            channel.detach()
            raise RunError(self.refusal(name))
        return name, channel

    def refusal(self, name: str) -> str:
        """Say that a module is not one to attach to or to remove."""
        return f"module '{name}' was not loaded for this user"

    def end(self, name: str, channel: Channel, is_left: bool) -> None:
        """Close a session's files, and remove its module unless it ``is_left`` in the kernel."""
        with Turn():
            if not is_left:
                channel.dismiss()
            channel.close()
            if not is_left:
                kernel.remove(name)

    def delete(self, name: str, messages: MessagePrinter) -> int:
        """Unload a module of ours, or "*" for all; return the exit status."""
        return loading.delete(name, messages)
