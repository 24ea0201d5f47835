"""What the code of a function or alias says of where it can be used: true because it is derived.

Of a function: who may call it, whether it can fail, whose memory and registers it looks at. That is
in the marks of its C, in the words of that C with the helpers of its file, and in what it calls.
Of an alias: the kinds of places that it stands for. What code does not tell, such as whether an
interrupt may be running, is left to comments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.elaborate.names.privilege import FREE, GURU, MYPROC
from stapy.elaborate.names.syntax import has_next, markers, walk
from stapy.parse import nodes as n
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stapy.parse.library import Library

_NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_HELPER = re.compile(r"^\w[\w\s*]*?\b(\w+)\s*\([^;{}]*\)\s*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:.*\\\n)*.*)", re.MULTILINE)
_WORD = re.compile(r"\w+")
_FAILS = re.compile(r"\bSTAP_ERROR\b|\bstapy_error\s*\(|\b[ku](?:read|write)\s*\(|\b\w*deref\s*\(")
_REGISTERS = re.compile(r"\b(?:c|CONTEXT)\s*->\s*(?:user_)?regs\b")
_READS_PROCESS = re.compile(r"\bstapy_peek_user\w*|\buread\s*\(")
_WRITES_PROCESS = re.compile(r"\bstapy_write_user\w*|\buwrite\s*\(")
_USER_STACK = re.compile(r"\bstapy_user_stack\w*")
# In a helper that serves several kinds of callers: which of them it is, a caller knows.
_CHOOSES = re.compile(r"==\s*STAPY_[A-Z_]+\b")
_READS_KERNEL = re.compile(r"\bstapy_peek_kernel\w*")
_CURRENT = re.compile(r"\bcurrent\b(?!\s*->\s*(?:mm|flags)\b)(?<!task_pt_regs\(current)")

# Unprivileged users may call it: anywhere, in their processes, another body of it, never.
ALL, OWN, OTHER, NONE = range(4)
_LEVELS = {
    ALL: "Also for unprivileged users (--privilege=stapusr).",
    OWN: "Also for unprivileged users (--privilege=stapusr), in their processes.",
    NONE: "Not for unprivileged users (--privilege=stapusr).",
}
_SENTENCES = {
    "registers": "Looks at the registers of the hit, where the probe has them.",
    "reads": "Reads memory of the current process.",
    "writes": "Writes memory of the current process.",
    "stack": "Walks the stack of the current process.",
    "current": "Is about the current task; in an interrupt that is the one interrupted.",
    "fails": "Can fail with a run-time error.",
}

_PATTERNS = {
    "registers": _REGISTERS,
    "reads": _READS_PROCESS,
    "writes": _WRITES_PROCESS,
    "stack": _USER_STACK,
    "current": _CURRENT,
    "fails": _FAILS,
}


class Conduct(Record):
    """What is known of a function; ``does`` has keys of `_SENTENCES`."""

    needs_guru: bool
    level: int
    does: frozenset[str]

    def sentences(self) -> list[str]:
        """Say it, in an order that does not depend on the code."""
        told = [text for key, text in _SENTENCES.items() if key in self.does]
        if self.needs_guru:
            told.append("Only in guru mode (-g).")
        return [*told, *([_LEVELS[self.level]] if self.level in _LEVELS else [])]


class Conducts:
    """Conducts of the functions of a library; callees are looked at once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._known: dict[int, tuple[n.FunctionDecl, Conduct]] = {}
        self._helpers: dict[str, dict[str, str]] = {}

    def of(self, decl: n.FunctionDecl, path: str) -> Conduct:
        """Find what a function of a file does, callees included."""
        if id(decl) not in self._known:
            # One that calls itself adds nothing by that.
            self._known[id(decl)] = (decl, Conduct(False, ALL, frozenset()))
            self._known[id(decl)] = (decl, self._look(decl, path))
        return self._known[id(decl)][1]

    def _look(self, decl: n.FunctionDecl, path: str) -> Conduct:
        if decl.code is not None:
            marks = markers(decl.code)
            return Conduct(GURU in marks, _level(marks), self._words(decl.code, path))
        text = self.library.text(path)[decl.span.start : decl.span.end]
        level, does = OTHER if "systemtap_privilege" in text else ALL, set[str]()
        shielded = {id(item) for one in walk(decl.body) if isinstance(one, n.TryStmt)
                    for item in walk(one.body)}  # fmt: skip
        for item in walk(decl.body):
            found = set[str]()
            if isinstance(item, n.Call):
                for other, place in self._called(item, path):
                    conduct = self.of(other, place)
                    level = max(level, conduct.level)
                    found |= conduct.does
            elif isinstance(item, (n.EmbeddedExpr, n.EmbeddedStmt)):
                level = max(level, _level(markers(item.code)))
                found |= self._words(item.code, path)
            elif isinstance(item, (n.Cast, n.AutoCast)) and item.chain and not item.address_of:
                found.add("fails")
            does |= found - {"fails"} if id(item) in shielded else found
        if decl.params:
            does.discard("current")  # it may be what stands for a missing argument only
        return Conduct(False, level, frozenset(does))

    def _called(self, call: n.Call, near: str) -> Iterator[tuple[n.FunctionDecl, str]]:
        """Find the bodies that a call may run: private ones of its file, else everybody's."""
        own = [one for one in self._declared(call, near) if one.is_private]
        if own:
            yield from ((one, near) for one in own)
            return
        for path in self.library.files_with_function(call.name):
            for one in self._declared(call, path):
                if not one.is_private:
                    yield one, path
                    if not has_next(one):
                        return

    def _declared(self, call: n.Call, path: str) -> list[n.FunctionDecl]:
        script = self.library.load(path)
        return [
            one
            for one in (script.decls if script is not None else [])
            if isinstance(one, n.FunctionDecl)
            and one.name == call.name
            and len(one.params) == len(call.args)
        ]

    def _words(self, code: str, path: str) -> frozenset[str]:
        """Find what C does by its own words, and by those of the helpers of its file."""
        text = self._with_helpers(_NOT_CODE.sub(" ", code), path)
        return frozenset(key for key, pattern in _PATTERNS.items() if pattern.search(text))

    def _with_helpers(self, text: str, path: str) -> str:
        helpers = self._helpers_of(path)
        seen: set[str] = set()
        parts, fresh = [text], set(_WORD.findall(text)) & helpers.keys()
        while fresh:
            seen |= fresh
            added = [helpers[name] for name in fresh]
            parts += added
            fresh = {word for one in added for word in _WORD.findall(one)} & helpers.keys() - seen
        return "\n".join(parts)

    def _helpers_of(self, path: str) -> dict[str, str]:
        """Map functions and macros of a file's C to their bodies."""
        if path not in self._helpers:
            found: dict[str, str] = {}
            script = self.library.load(path)
            for decl in script.decls if script is not None else []:
                if isinstance(decl, n.EmbeddedDecl):
                    code = _NOT_CODE.sub(" ", decl.code)
                    for pattern in (_HELPER, _MACRO):
                        found.update((one[1], _certain(one[2])) for one in pattern.finditer(code))
            self._helpers[path] = found
        return self._helpers[path]


def _certain(body: str) -> str:
    """Leave out of a helper what holds for some of its callers only."""
    if _CHOOSES.search(body):
        body = _FAILS.sub(" ", body)
    return _READS_PROCESS.sub(" ", body) if _READS_KERNEL.search(body) else body


def _level(marks: set[str]) -> int:
    return NONE if not marks & FREE else OWN if MYPROC in marks else ALL


# --- aliases --------------------------------------------------------------------

_PLACES = (
    (r"(kernel|kprobe|module)\.function(\.call)?", "a kernel function begins"),
    (r"(kernel|kprobe|module)\.function\.return", "a kernel function returns"),
    (r"(kernel|module)\.trace", "the kernel reaches a tracepoint"),
    (r"netfilter\.(hook|pf)\..*", "a packet passes a hook of netfilter"),
    (r"process(\.\w+)*\.mark", "a program reaches a mark, in its process"),
    (r"process(\.\w+)*\.function(\.call)?", "a function of a program begins, in its process"),
    (r"process(\.\w+)*\.function\.return", "a function of a program returns, in its process"),
    (r"procfs(\.umask)?\.read(\.maxsize)?", "a process reads a file of the session"),
    (r"procfs(\.umask)?\.write", "a process writes to a file of the session"),
    (r"perf\.type\.config(\..*)?", "a counter of events is full"),
    (r"begin", "the session begins"),
    (r"end", "the session ends"),
    (r"timer\..*", "a timer runs out"),
)


def places(points: Iterable[n.ProbePoint]) -> str:
    """Say at what kinds of places points are, which are no aliases; "" when one is not known."""
    told: list[str] = []
    for point in points:
        name = ".".join(one.name for one in point.components)
        if name == "never":
            continue
        kind = next((text for form, text in _PLACES if re.fullmatch(form, name)), "")
        if not kind:
            return ""
        told.append(kind)
    sentence = ", or ".join(dict.fromkeys(told))
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""
