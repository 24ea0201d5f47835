"""Files of cases: ``NAME.test.toml`` beside ``NAME.stp`` says how it is run and what must come.

The script stays as it is.  docs/testing-scripts.md has the keys; what a file says and nobody
would heed is an error, for a misspelt expectation would be a test that cannot fail.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

from stapy.diagnostics.suggest import did_you_mean
from stapy.kernel.release import release_order
from stapy.paths import exists, is_dir, is_file
from stapy.record import Record, new
from stapy.session.inputs import is_text

SUFFIX = ".test.toml"
SECONDS = 120.0
_LINE, _PART, _RE = "line", "part", "re"


class CompanionError(Exception):
    """A file of cases cannot be used; the text is the message."""


class Pattern(Record):
    """What one line must be: the ``text`` itself, have it as a part, or match it."""

    kind: str
    text: str

    def matches(self, line: str) -> bool:
        """Tell whether a line is such a one; blanks at its end do not count for whole lines."""
        if self.kind == _LINE:
            return line.rstrip() == self.text.rstrip()
        if self.kind == _PART:
            return self.text in line
        return re.search(self.text, line) is not None

    def __str__(self) -> str:
        return {_LINE: "{}", _PART: "…{}…", _RE: "/{}/"}[self.kind].format(self.text)


class TestCase(Record):
    """One run of a script: the words of its command line, and what is expected of it."""

    __test__ = False  # pytest looks for classes of this name

    name: str
    script: str  # from the folder of the file of cases
    options: list[str] = new(list)
    arguments: list[str] = new(list)
    command: str | None = None
    expect: list[Pattern] = new(list)
    output: str | None = None  # the whole of standard output
    stderr: list[Pattern] = new(list)
    never: list[Pattern] = new(list)
    status: int = 0
    timeout: float = SECONDS
    kernel_from: str = ""  # the oldest kernel of the case, "" for any
    kernel_below: str = ""

    def runs_on(self, release: str) -> bool:
        """Tell whether the case is for such a kernel."""
        order = release_order(release)
        if self.kernel_from and order < release_order(self.kernel_from):
            return False
        return not self.kernel_below or order < release_order(self.kernel_below)


class Companion(Record):
    """A file of cases, in its order."""

    path: Path
    cases: list[TestCase]


def find(name: str) -> list[Path]:
    """List the files of cases that a word means: of a script, of a folder, or the file itself."""
    path = Path(name)
    if is_dir(path):
        found = sorted(one for one in path.rglob(f"*{SUFFIX}") if is_file(one))
        if not found:
            raise CompanionError(f"'{name}': no file *{SUFFIX} is in this folder")
        return found
    try:
        path.stat()
    except OSError as error:
        raise CompanionError(f"'{name}': {error.strerror}{_if_text(name)}") from None
    if path.suffix == ".toml":
        return [path]
    beside = path.with_name(path.name.removesuffix(".stp") + SUFFIX)
    if not exists(beside):
        raise CompanionError(f"'{name}' has no cases: there is no file '{beside}'")
    return [beside]


def _if_text(name: str) -> str:
    """Say what is wanted where a word is a script's text instead of its file; "" where not."""
    if not is_text(name):
        return ""
    return (
        f"; that is the text of a script, and its file is wanted, with its cases beside it in "
        f"NAME{SUFFIX} (stapy -e 'SCRIPT' runs a text)"
    )


def read(path: Path) -> Companion:
    """Read a file of cases; `CompanionError` names the file and the key that is wrong."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompanionError(f"'{path}': {error.strerror}") from None
    except ValueError as error:  # no UTF-8, no TOML, or a number of thousands of digits
        raise CompanionError(f"'{path}': {error}") from None
    except RecursionError:
        raise CompanionError(f"'{path}': its values are nested too deep") from None
    try:
        return Companion(path, _cases(path, told))
    except CompanionError as error:
        raise CompanionError(f"'{path}': {error}") from None


def _cases(path: Path, told: dict[str, Any]) -> list[TestCase]:
    _known(told, ("script", "defaults", "case"), "")
    name = _text(told.get("script", path.name.removesuffix(SUFFIX) + ".stp"), "script")
    if not is_file(path.parent / name):
        raise CompanionError(f"there is no script '{name}' (the key 'script' names another)")
    common = _table(told.get("defaults", {}), "defaults")
    _known(common, tuple(_TAKEN), "defaults: ")
    cases = _table(told.get("case", {}), "case")
    if not cases:
        raise CompanionError("there is no case: a table [case.NAME] is one")
    return [
        _case(TestCase(title, name), {**common, **_table(one, f"case.{title}")})
        for title, one in cases.items()
    ]


def _case(case: TestCase, told: dict[str, Any]) -> TestCase:
    where = f"case '{case.name}': "
    _known(told, tuple(_TAKEN), where)
    for key, value in told.items():
        try:
            _TAKEN[key](case, value, key)
        except CompanionError as error:
            raise CompanionError(f"{where}{error}") from None
    if case.expect and case.output is not None:
        raise CompanionError(f"{where}'output' is the whole output: 'expect' has no place beside")
    return case


# --- keys ---------------------------------------------------------------------------


def _known(table: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in keys:
            hint = did_you_mean(key, keys, 1)
            have = f"the keys are {', '.join(keys)}"
            raise CompanionError(f"{where}unknown key '{key}'; {hint or have}")


def _table(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CompanionError(f"'{key}' must be a table")
    return value


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise CompanionError(f"'{key}' must be a string")
    if "\0" in value:
        raise CompanionError(f"'{key}' has a byte of 0")
    return value


def _words(value: object, key: str) -> list[str]:
    """Take a list of words, or a string that is taken apart as a shell would."""
    if isinstance(value, str):
        try:
            return shlex.split(_text(value, key))
        except ValueError as error:
            raise CompanionError(f"'{key}': {error}") from None
    return [_text(one, key) for one in _list(value, key, "a string, or a list of strings")]


def _list(value: object, key: str, what: str) -> list[object]:
    if not isinstance(value, list):
        raise CompanionError(f"'{key}' must be {what}")
    return value


def _patterns(value: object, key: str) -> list[Pattern]:
    if isinstance(value, str):
        return [Pattern(_LINE, line) for line in _text(value, key).splitlines()]
    what = "a list, or a string with the lines"
    return [_pattern(one, key) for one in _list(value, key, what)]


def _pattern(value: object, key: str) -> Pattern:
    if isinstance(value, dict):
        kind = next(iter(value), "")
        if len(value) != 1 or kind not in (_PART, _RE):
            raise CompanionError(f"'{key}': a table here is {{ re = … }} or {{ part = … }}")
        text = _text(value[kind], f"{key}.{kind}")
    else:
        kind, text = _LINE, _text(value, key)
    if "\n" in text:
        raise CompanionError(f"'{key}': each element is about one line, this one has several")
    if not text.strip() and kind != _LINE:
        raise CompanionError(f"'{key}': an empty '{kind}' would be any line")
    if kind == _RE:
        _check_expression(text, key)
    return Pattern(kind, text)


def _check_expression(text: str, key: str) -> None:
    try:
        re.compile(text)
    except (re.error, OverflowError) as error:  # the latter of a number of repetitions
        why = str(error)
    except RecursionError:
        why = "its parentheses are nested too deep"
    else:
        return
    raise CompanionError(f"'{key}': /{text}/ is no expression: {why}")


def _status(value: object, key: str) -> int:
    if type(value) is not int or not 0 <= value <= 255:
        raise CompanionError(f"'{key}' must be a number from 0 to 255")
    return value


def _seconds(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise CompanionError(f"'{key}' must be a number of seconds above 0 and below 1000000")
    return float(value)


def _release(value: object, key: str) -> str:
    text = _text(value, key)
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,5})*", text):
        raise CompanionError(f"'{key}': '{text}' is no version such as 6.12")
    return text


def _kernel(case: TestCase, value: object, key: str) -> None:
    table = _table(value, key)
    _known(table, ("from", "below"), f"{key}: ")
    case.kernel_from = _release(table["from"], f"{key}.from") if "from" in table else ""
    case.kernel_below = _release(table["below"], f"{key}.below") if "below" in table else ""


def _set(field: str, take: Any) -> Any:
    def put(case: TestCase, value: object, key: str) -> None:
        setattr(case, field, take(value, key))

    return put


_TAKEN: dict[str, Any] = {
    "options": _set("options", _words),
    "arguments": _set("arguments", _words),
    "command": _set("command", _text),
    "expect": _set("expect", _patterns),
    "output": _set("output", _text),
    "stderr": _set("stderr", _patterns),
    "never": _set("never", _patterns),
    "status": _set("status", _status),
    "timeout": _set("timeout", _seconds),
    "kernel": _kernel,
}
