"""``--sign-module``: the key, the signed module, and what to do where the kernel wants one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from stapy.build import sign as signed
from stapy.build.sign import SignError, SigningKey
from stapy.kernel.host import HostFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.kernel import Kernel
    from stapy.session import Session
    from stapy.session.passes import Passes

_VM = "run it in a throw-away virtual machine: stapy --vm …"


def find(session: Session, loaders: Sequence[HostFiles] = ()) -> SigningKey:
    """Find the key that --sign-module means; this user's own is made if there is none.

    Of several it is one that the machines know which are to load the module: ``loaders``, or this.
    """
    place = session.options.sign
    machines = loaders or [HostFiles()]
    try:
        if place:
            key = signed.given(Path(place).absolute())
        else:
            strict = [host for host in machines if host.demands()]
            # Those that take any module have no say, unless it is all the same to the others.
            key = signed.own(lambda one: (_takers(strict, one), _takers(machines, one))) or _make(
                session
            )
    except SignError as error:
        _refuse(session, error)
    if key.is_open():
        session.warn_here(
            "W0663",
            f"others can read the key '{key.private}': whoever has it can sign modules for all "
            f"kernels that know it (chmod 600)",
        )
    return key


def _takers(machines: Sequence[HostFiles], key: SigningKey) -> int:
    """Count the machines that take what a key has signed."""
    return sum(host.takes_signed(key.number) for host in machines)


def _make(session: Session) -> SigningKey:
    key = signed.make()
    session.note(f"made a key to sign modules with: {key.private.parent}")
    session.note(f"kernels know it after 'mokutil --import {key.certificate}' and a reboot")
    return key


def sign(session: Session, module: Path, key: SigningKey, kernel: Kernel) -> Path:
    """Return a signed copy of the module; it lies in the cache under a name of its own."""
    session.at_pass = 4
    folder = session.work_folder() / "signed"
    folder.mkdir(exist_ok=True)
    target = folder / module.name
    try:
        signed.sign(module, target, key, kernel)
    except SignError as error:
        _refuse(session, error)
    session.verbose(f"signed the module with the key '{key.name}'.")
    return target


def _refuse(session: Session, error: SignError) -> NoReturn:
    session.at_pass = 4
    text = f"cannot sign the module: {error}"
    session.refuse("E0409", text, kind="build error", hint=error.hint)


def way_in(key: SigningKey | None) -> str:
    """Say what to do where another host takes signed modules only; ``key`` is what signs ours."""
    if key is None:
        return "--sign-module signs it with a key of yours, which mokutil enrols on the host"
    return (
        f"it does not know your key '{key.name}': copy {key.certificate} to the host, "
        "mokutil --import it there, reboot and confirm"
    )


def way_out(session: Passes, kernel: Kernel, reasons: list[str]) -> str:
    """Say what to do where the kernel takes no module; a signature helps if that is all."""
    verdicts = HostFiles().verdicts(kernel)
    if not set(reasons) <= {verdicts["lockdown"], verdicts["signing"]}:
        return _VM
    key = session.signer
    if key is None:
        return f"--sign-module signs it with a key of yours, which mokutil enrols; or {_VM}"
    return (
        f"it does not know your key '{key.name}': mokutil --import {key.certificate}, reboot and "
        f"confirm; or {_VM}"
    )
