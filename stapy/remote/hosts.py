"""How hosts are named: ``[USER@]HOST``, ``ssh://[USER@]HOST[:PORT]``, ``direct://``."""

from __future__ import annotations

import re
from pathlib import Path

from stapy.record import Record

_SSH = "ssh://"
_FOREIGN = {
    "libvirt": "machines are reached by ssh",
    "unix": "there is no stapsh; hosts are reached by ssh",
    "bpf": "stapy makes kernel modules only",
}
# No blank, quote or control character has a place in these; a leading '-' would be an option.
_USER = r"(?:(?P<user>[^\s@/'\"\\:-][^\s@/'\"\\:]*)@)?"
_NAME = r"(?P<name>\[[0-9A-Fa-f:.%\w]+\]|[\w.][\w.-]*)"
_PORT = r"(?::(?P<port>\d{1,5}))?"
_URL = re.compile(_USER + _NAME + _PORT + "/?")
_SIX = re.compile(_USER + r"(?P<name>[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(?:%\w+)?)")


class HostError(Exception):
    """A name of a host, or a file of names, that cannot be used; the text says why."""


class RemoteHost(Record):
    """One place to run on: the user's word for it, and what ssh is told."""

    number: int  # as --remote-prefix and remote_id() have it, from 0
    uri: str
    user: str = ""
    name: str = ""
    port: int = 0  # 0: what ssh's configuration says
    is_direct: bool = False

    @property
    def destination(self) -> str:
        """The word that ssh takes."""
        return f"{self.user}@{self.name}" if self.user else self.name


def parse(uri: str, number: int = 0) -> RemoteHost:
    """Read the name of a host; HostError when it is none."""
    if uri.rstrip("/") == "direct:":
        return RemoteHost(number, uri, is_direct=True)
    kind = uri.partition(":")[0]
    if kind in _FOREIGN and ":" in uri:
        raise HostError(f"--remote={uri} is not supported: {_FOREIGN[kind]}.")
    is_url = uri.startswith(_SSH)
    text = uri[len(_SSH) :] if is_url else uri
    match = _URL.fullmatch(text) or (None if is_url else _SIX.fullmatch(text))
    if match is None:
        wanted = "[USER@]HOST, ssh://[USER@]HOST[:PORT] or direct://"
        raise HostError(f"Invalid --remote '{uri}' (should be {wanted}).")
    found = match.groupdict()
    port = int(found.get("port") or 0)
    if port and not is_url:
        raise HostError(f"Invalid --remote '{uri}' (a port is named by ssh://{text}).")
    if port > 65535 or (found.get("port") and not port):
        raise HostError(f"Invalid --remote '{uri}' (a port is a number of 1 to 65535).")
    return RemoteHost(number, uri, found["user"] or "", found["name"].strip("[]"), port)


def read_file(name: str) -> list[str]:
    """Read the names in a file: one in a line; ``#`` begins a comment.

    Raises HostError with all lines that name no host.
    """
    try:
        text = Path(name).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise HostError(f"--remote-file: cannot read '{name}': {why}.") from None
    words = [line.partition("#")[0].strip() for line in text.splitlines()]
    found = [word for word in words if word]
    if not found:
        raise HostError(f"--remote-file: '{name}' names no host.")
    wrong: list[str] = []
    for at, word in enumerate(words, 1):
        if word:
            try:
                parse(word)
            except HostError as error:
                wrong.append(f"{name}:{at}: {error}")
    if wrong:
        raise HostError("\n".join(wrong))
    return found
