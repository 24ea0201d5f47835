"""A session that finds the mistakes of a script and does nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import Bug, Stop
from stapy.diagnostics.layouts import as_json
from stapy.record import Record, replace
from stapy.session import Session
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.kernel import Kernel
    from stapy.options import Options


class Message(Record):
    """One message: its ``data`` as in ``--message-format=json``, and as ``text``.

    The text is empty where an earlier message tells this place as well.
    """

    data: dict[str, object]
    text: str

    @property
    def is_error(self) -> bool:
        """Tell an error from a warning."""
        return self.data["severity"] == "error"


class Check(Session):
    """Passes 1 to 3 of one script; messages are kept in ``messages`` instead of shown.

    To compile headers of a build tree is to run its makefiles. Who only looks at a script does not
    expect that, so a tree that was named by its path is not asked, unless it ``trusts_trees``.
    """

    trusts_trees = False

    def __init__(self, options: Options, name: str, text: str) -> None:
        super().__init__(replace(options, script_text=None, script_file=name, last_pass=3))
        self.texts = [(name, text)]
        self.messages: list[Message] = []
        self.take_extra_scripts()

    def take_extra_scripts(self) -> None:
        """Add the texts of -E to the script; for options that are known only now."""
        extra = enumerate(self.options.extra_scripts, 1)
        self.texts[1:] = [(f"<input {number}>", text) for number, text in extra]

    def translate_for(self, kernel: Kernel) -> None:
        """Take the script through its passes, up to the first that finds an error."""
        try:
            self._passes(kernel)
        except Stop:
            pass
        except DebuginfoError as error:
            text = f"damaged debug information: {error}"
            self.diagnostics.error("semantic error", "E0290", text)
        except Bug as error:
            self.diagnostics.error("error", "", f"a mistake in stapy, please report it: {error}")
        finally:
            self.show()
            progress.clear()
            self.clean_up()

    def _passes(self, kernel: Kernel) -> None:
        self.begin()
        scripts = self.parse(kernel)
        services = self.services(kernel)
        if kernel.image is not None and kernel.modules_dir is None and not services.debuginfo.btf:
            problems = services.debuginfo.loaded.problems
            self.refuse("E0293", f"'{kernel.image}' has no BTF", hint="; ".join(problems))
        self.translate(self.elaborate(scripts, services))

    def why_not_made(self, kernel: Kernel) -> str:
        """Say why makefiles of a kernel are not run, "" when they may be."""
        if self.trusts_trees or not kernel.is_tree:
            return ""
        return (
            f"to compile them is to run makefiles of '{kernel.build_dir}', which a check does not"
        )

    def show(self) -> None:
        """Keep what the pass has reported."""
        fresh = self.diagnostics.items[self.shown :]
        for item, told in zip(fresh, self.told_once(fresh)):
            if item.severity == item.WARNING and self.options.suppress_warnings:
                continue
            data = as_json(item, self.sources, self.at_pass)
            self.messages.append(Message(data, self.drawn(told) if told else ""))
        self.shown = len(self.diagnostics.items)

    def warn_here(
        self, code: str, message: str, *, notes: list[str] | None = None, hint: str = ""
    ) -> None:
        """Say nothing of this machine and user: a check is about scripts."""
