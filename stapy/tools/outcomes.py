"""What a check of scripts found, in the forms that people, editors and code hosts read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from stapy import __version__
from stapy.diagnostics.explain import pages
from stapy.diagnostics.layouts import json_line
from stapy.diagnostics.render import harmless
from stapy.record import Record
from stapy.tools import junit

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.session.check import Message

_ERROR = "error"
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


class Outcome(Record):
    """What was found in one script for one kernel; ``unreadable`` says why it was not read."""

    script: str
    kernel: str
    messages: list[Message]
    unreadable: str = ""

    def status(self, strict: bool) -> int:
        """Give the exit status: 0, 1 for an error (``strict``: a warning), 2 when unreadable."""
        if self.unreadable:
            return 2
        return int(any(message.is_error or strict for message in self.messages))


def as_text(outcomes: list[Outcome]) -> str:
    """Write the messages of one script, each once, behind the kernels that it is for.

    With one kernel alone none is named.
    """
    kernels: dict[str, list[str]] = {}
    for outcome in outcomes:
        for message in outcome.messages:
            if not message.text:
                continue
            text = message.text if message.text.endswith("\n") else f"{message.text}\n"
            known = kernels.setdefault(text, [])
            if outcome.kernel not in known:
                known.append(outcome.kernel)
    written, named = [], [outcomes[0].kernel] if len(outcomes) == 1 else []
    for text, known in sorted(kernels.items(), key=lambda one: (-len(one[1]), one[1])):
        if known != named:
            written.append(f"--- {harmless(outcomes[0].script)} for {', '.join(known)}\n")
            named = known
        written.append(text)
    return "".join(written)


def as_json(outcome: Outcome) -> str:
    """Write an object for each message, one on a line, with its script and kernel."""
    return "".join(
        json_line({"script": outcome.script, "kernel": outcome.kernel, **message.data}) + "\n"
        for message in outcome.messages
    )


# --- SARIF 2.1.0, which code hosts show beside the lines -----------------------------


def as_sarif(outcomes: list[Outcome]) -> str:
    """Write one SARIF log; what several kernels have in common is one result."""
    results: dict[str, dict[str, object]] = {}
    rules: dict[str, dict[str, object]] = {}
    for outcome in outcomes:
        for message in outcome.messages:
            result = _result(outcome, message)
            known = results.setdefault(json_line(result), {**result, "properties": {"kernels": []}})
            properties = known["properties"]
            assert isinstance(properties, dict)
            properties["kernels"].append(outcome.kernel)
            code = str(message.data["code"])
            if code:
                rules.setdefault(code, _rule(code))
    driver = {
        "name": "stapy",
        "version": __version__,
        "rules": [rules[code] for code in sorted(rules)],
    }
    unread = {outcome.script: outcome.unreadable for outcome in outcomes if outcome.unreadable}
    invocation: dict[str, object] = {"executionSuccessful": not unread}
    if unread:
        invocation["toolExecutionNotifications"] = [
            {"level": _ERROR, "message": {"text": f"'{script}': {why}"}, "locations": [place]}
            for script, why in unread.items()
            for place in [_location({"file": script})]
        ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": list(results.values()),
    }
    return json_line({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(code: str) -> dict[str, object]:
    title, _, page = pages().get(code, code).partition("\n")
    rule: dict[str, object] = {"id": code, "shortDescription": {"text": title}}
    if page:
        rule["fullDescription"] = {"text": page}
    return rule


def _result(outcome: Outcome, message: Message) -> dict[str, object]:
    fields = message.data
    result: dict[str, object] = {
        "level": _ERROR if message.is_error else "warning",
        "message": {"text": _told(fields)},
        # Without a place it is about the script as a whole.
        "locations": [_location(fields if fields.get("file") else {"file": outcome.script})],
    }
    if fields["code"]:
        result["ruleId"] = fields["code"]
    labels = fields["labels"]
    assert isinstance(labels, list)
    related = [
        {**_location(label), "message": {"text": label["text"]}}
        for label in labels
        if label.get("file")
    ]
    if related:
        result["relatedLocations"] = related
    return result


def _location(place: dict[str, object]) -> dict[str, object]:
    name = str(place["file"]).encode("utf-8", "surrogateescape")
    physical: dict[str, object] = {"artifactLocation": {"uri": quote(name)}}
    if "line" in place:
        physical["region"] = {
            "startLine": place["line"],
            "startColumn": place["column"],
            "endLine": place["end_line"],
            "endColumn": place["end_column"],
        }
    return {"physicalLocation": physical}


def _told(fields: dict[str, object]) -> str:
    """Join what a message says of itself: what, where, why, what to do."""
    notes = fields["notes"]
    assert isinstance(notes, list)
    parts = [str(fields["message"]), str(fields["where"]), *map(str, notes), str(fields["hint"])]
    return "\n".join(part for part in parts if part)


# --- JUnit's XML, which test reports read ---------------------------------------------


def as_junit(outcomes: list[Outcome]) -> str:
    """Write a suite for each kernel and a case for each script; warnings are its output."""
    return junit.document("stapy check", [_case(outcome) for outcome in outcomes])


def _case(outcome: Outcome) -> junit.JunitCase:
    name, folder = Path(outcome.script).name, str(Path(outcome.script).parent)
    case = junit.JunitCase(outcome.kernel, name, folder, outcome.script, error=outcome.unreadable)
    errors = [message for message in outcome.messages if message.is_error]
    if errors:
        case.failure = str(errors[0].data["message"])
        case.why = "".join(error.text for error in errors)
    case.out = "".join(message.text for message in outcome.messages if not message.is_error)
    return case


# Forms that are one document for all outcomes.
WHOLE: dict[str, Callable[[list[Outcome]], str]] = {"sarif": as_sarif, "junit": as_junit}
