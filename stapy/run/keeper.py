"""The part that stays root while a member of the groups runs a session: it loads and removes.

It opens no path that the user names but the programs that a trusted module names, runs no command
of his, and believes nothing that his consumer says: what is loaded is looked at here.
"""

from __future__ import annotations

import os

from . import admission, fit, kernel, loading, mark
from .control import Channel, folder_of
from .elf import ModuleFile
from .errors import GoneError, RunError
from .groups import NAMES, STAPDEV
from .hands import Hands
from .messages import MessagePrinter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Tuple

    from .groups import GroupMember
    from .wire import Wire

# What its answers begin with.
DONE, REFUSED, GONE = "done", "refused", "gone"
# Sessions of one user who is not in stapdev: each takes memory of the kernel that no limit of his
# counts, and what it traces costs all. Those that were left in the kernel are among them.
SESSIONS = 16


class MembersHands(Hands):
    """Takes no module that is another user's."""

    def __init__(self, member: GroupMember) -> None:
        self._member = member

    def may_have(self, name: str) -> bool:
        """Tell whether a module was loaded for this user, or he may do as root does."""
        return self._member.level >= STAPDEV or mark.user_of(name) == self._member.uid

    def refusal(self, name: str) -> str:
        """Say whose it is not."""
        return f"module '{name}' was not loaded by '{self._member.name}'"

    def refuse_more(self) -> None:
        """Raise `RunError` where the user has all the sessions that he may have at once."""
        if self._member.level >= STAPDEV:
            return
        his = [name for name in kernel.our_modules() if mark.user_of(name) == self._member.uid]
        if len(his) >= SESSIONS:
            raise RunError(
                f"'{self._member.name}' has {len(his)} sessions, and members of the group "
                f"{NAMES[self._member.level]} may have {SESSIONS} at once: end one first "
                f"(stapy-run -d NAME; {', '.join(his)})"
            )


class Keeper:
    """Serves one consumer, and puts away what that leaves when it ends, however it does."""

    def __init__(self, member: GroupMember, wire: Wire) -> None:
        self._member = member
        self._wire = wire
        self._hands: Hands = MembersHands(member)
        self._kept: Dict[str, Channel] = {}
        self._modules: Dict[str, ModuleFile] = {}
        self._said: List[Tuple[str, str]] = []

    def serve(self) -> None:
        """Obey until the consumer is gone, then end its sessions."""
        try:
            while True:
                asked = self._wire.receive()
                if asked is None:
                    break
                fields, files = asked
                self._answer(fields, files)
        except (OSError, RunError):
            pass  # the consumer cannot be answered any more
        finally:
            for name in list(self._kept):
                try:
                    self._end(name, False)
                except (OSError, RunError):
                    pass  # the module has itself removed, or waits for the next consumer

    def _answer(self, fields: List[str], files: List[int]) -> None:
        self._said = []
        texts: List[str] = []
        given: List[int] = []
        kind = DONE
        try:
            texts, given = self._obey(fields, files)
        except GoneError as error:
            kind, texts = GONE, [str(error)]
        except RunError as error:
            kind, texts = REFUSED, [str(error)]
        except Exception as error:  # whatever a user's module makes of us, his sessions stay
            kind, texts = REFUSED, [f"stapy-run's keeper: {type(error).__name__}: {error}"]
        finally:
            for fd in files:
                _close(fd)
        said = [field for pair in self._said for field in pair]
        self._wire.send([kind, str(len(texts)), *texts, *said], given)
        for fd in given:
            if not any(fd in (one.control, *one.outputs) for one in self._kept.values()):
                _close(fd)

    def _obey(self, fields: List[str], files: List[int]) -> Tuple[List[str], List[int]]:
        """Do what is asked; return the texts and the files of the answer."""
        verb, *words = fields
        if verb == "check":
            self._admit(words[0], files)
        elif verb == "insert":
            return self._insert(words[0], files, words[1] == "renamed", words[2:])
        elif verb == "files":
            self._hand_over(words[0], int(words[1]))
        elif verb == "attach":
            return self._attach(words[0])
        elif verb == "end":
            self._end(words[0], words[1] == "left")
        elif verb == "delete":
            self._delete(words[0])
        else:
            raise RunError(f"stapy-run's keeper does not know '{verb}'")
        return [], []

    def _messages(self) -> MessagePrinter:
        """Make what collects messages for the consumer, who prints them or does not."""
        messages = MessagePrinter("never", True, 1)
        messages.listener = lambda kind, text: self._said.append((kind, text))
        return messages

    def _admit(self, path: str, files: List[int]) -> admission.Admitted:
        """Look at a module as a consumer of root's would, and whether this user may load it."""
        admitted = admission.admit(self._member, path, files[0])
        module = admitted.module
        if not module.is_ours():
            raise RunError(f"'{path}' is not a module that stapy made")
        if not module.is_named():
            raise RunError(f"module '{path}' is damaged: it has two names")
        other = fit.other_protocol(module)
        if other:
            raise RunError(f"module '{path}' {other}")
        kernel.check(module)
        return admitted

    def _insert(
        self, path: str, files: List[int], must_rename: bool, parameters: List[str]
    ) -> Tuple[List[str], List[int]]:
        admitted = self._admit(path, files)
        admission.check_parameters(self._member, parameters, admitted.module.parameters)
        loading.refuse_foreign(admitted.module.name)
        words = [*parameters, *admission.limits(self._member, admitted)]
        name, channel = self._hands.insert(admitted.module, words, self._messages(), must_rename)
        self._modules[name] = admitted.module
        return self._keep(name, channel)

    def _keep(self, name: str, channel: Channel) -> Tuple[List[str], List[int]]:
        """Remember the files of a session, and answer with them."""
        self._kept[name] = channel
        files = [channel.control, *channel.outputs]
        if channel.records is not None:
            files.append(os.open(f"{folder_of(name)}/records", os.O_RDONLY | os.O_CLOEXEC))
        cpus = " ".join(map(str, channel.cpus))
        return [name, cpus, "records" if channel.records is not None else ""], files

    def _hand_over(self, name: str, namespaces: int) -> None:
        if namespaces and self._member.level < STAPDEV:
            raise RunError(f"-N is for root and members of the group {NAMES[STAPDEV]}")
        manifest = self._modules[self._own(name)].manifest()
        self._hands.hand_over(self._kept[name], manifest, namespaces)

    def _attach(self, name: str) -> Tuple[List[str], List[int]]:
        name, channel = self._hands.attach(name)
        return self._keep(name, channel)

    def _own(self, name: str) -> str:
        if name not in self._kept:
            raise RunError(f"module '{name}' was not loaded here")
        return name

    def _end(self, name: str, is_left: bool) -> None:
        channel = self._kept.pop(self._own(name))
        self._modules.pop(name, None)
        self._hands.end(name, channel, is_left)

    def _delete(self, name: str) -> None:
        """Remove one session of this user's, or all; each is held open until it is removed."""
        messages = self._messages()
        every = kernel.our_modules() if name == "*" else [name]
        for one in every:
            if name == "*" and not self._hands.may_have(one):
                continue
            try:
                self._hands.end(*self._hands.attach(one), False)
            except RunError as error:
                messages.error(str(error))


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        pass
