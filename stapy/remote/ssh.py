"""The user's OpenSSH as a command line: one connection for each host, shared by what runs there."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from stapy.record import Record
from stapy.remote.hosts import RemoteHost

_CONNECT_SECONDS = 15
_ALIVE_SECONDS = 15
_KEEP_SECONDS = 60  # a connection that nobody uses ends by itself, also after we were killed
# What the user has set for work by hand and what would be in the way of ours.
_ALWAYS = ["-T", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"]


class SshError(Exception):
    """There is no ssh that could be asked; the text says why."""


class Connection(Record):
    """How commands are run on one host."""

    host: RemoteHost
    options: list[str]
    is_ours: bool  # the shared connection is not one of the user's own

    def command(self, text: str, *, may_ask: bool = False) -> list[str]:
        """Return the command line that has a shell there run ``text``.

        ``may_ask``: ssh may ask the user for passwords and about keys of hosts.
        """
        if self.host.is_direct:
            return ["/bin/sh", "-c", text]
        batch = [] if may_ask else ["-o", "BatchMode=yes"]
        # The login shell may be any; a quoted word means the same to all of them.
        words = f"exec /bin/sh -c {shlex.quote(text)}"
        return ["ssh", *self.options, *batch, "--", self.host.destination, words]

    def by_hand(self) -> list[str]:
        """Return the command line by which a user logs in there."""
        port = ["-p", str(self.host.port)] if self.host.port else []
        return ["ssh", *port, self.host.destination]

    def closing(self) -> list[str]:
        """Return the command line that ends the shared connection; nothing when it is not ours."""
        if self.host.is_direct or not self.is_ours:
            return []
        return ["ssh", *self.options, "-O", "exit", "--", self.host.destination]


def connect(host: RemoteHost, folder: Path) -> Connection:
    """Find how to reach a host: what its user has settled for it, our defaults for the rest.

    Raises SshError.
    """
    if host.is_direct:
        return Connection(host, [], False)
    own = ["-p", str(host.port)] if host.port else []
    settled = _settled([*own, "--", host.destination])
    options = [*_ALWAYS, *own]
    if settled.get("connecttimeout", "none") in ("none", "0"):
        options += ["-o", f"ConnectTimeout={_CONNECT_SECONDS}"]
    if settled.get("serveraliveinterval", "0") == "0":
        options += ["-o", f"ServerAliveInterval={_ALIVE_SECONDS}"]
    is_ours = settled.get("controlpath", "none") == "none"
    if is_ours:
        options += ["-o", "ControlMaster=auto", "-o", f"ControlPersist={_KEEP_SECONDS}"]
        options += ["-o", f"ControlPath={folder}/{host.number}"]
    return Connection(host, options, is_ours)


def _settled(words: list[str]) -> dict[str, str]:
    """Ask ssh what it would do by the user's configuration: its keywords in lower case."""
    try:
        done = subprocess.run(
            ["ssh", "-G", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise SshError(f"cannot start ssh: {error.strerror}") from None
    if done.returncode:
        raise SshError(last_line(done.stderr) or f"ssh -G ended with status {done.returncode}")
    pairs = (line.partition(" ") for line in done.stdout.splitlines())
    return {key.lower(): value.strip() for key, _, value in pairs}


def last_line(text: str) -> str:
    """Return the last line of what a program said, which is why it ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
