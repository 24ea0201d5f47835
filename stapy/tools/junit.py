"""JUnit's XML, which test reports of code hosts and build servers read."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from stapy.record import Record

_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JunitCase(Record):
    """One case of a report; what is "" is left out.

    ``failure`` says what is wrong in a line and ``why`` at length, ``error`` why it could not be
    tried, ``skipped`` why it was not; ``out`` and ``err`` are its streams.
    """

    suite: str
    name: str
    folder: str
    file: str
    error: str = ""
    failure: str = ""
    why: str = ""
    skipped: str = ""
    out: str = ""
    err: str = ""
    seconds: float | None = None


def document(name: str, cases: list[JunitCase]) -> str:
    """Write a report: its suites in the order in which they come first."""
    root = ElementTree.Element("testsuites", name=name)
    for suite in dict.fromkeys(case.suite for case in cases):
        its = [case for case in cases if case.suite == suite]
        element = ElementTree.SubElement(
            root, "testsuite", name=_fit(suite), tests=str(len(its)),
            failures=str(sum(bool(case.failure) for case in its)),
            errors=str(sum(bool(case.error) for case in its)),
        )  # fmt: skip
        if skipped := sum(bool(case.skipped) for case in its):
            element.set("skipped", str(skipped))
        for case in its:
            _add(element, case)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, "unicode", xml_declaration=False)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text + "\n"


def _add(suite: ElementTree.Element, case: JunitCase) -> None:
    element = ElementTree.SubElement(
        suite, "testcase",
        name=_fit(case.name), classname=_fit(case.folder), file=_fit(case.file),
    )  # fmt: skip
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if case.error:
        ElementTree.SubElement(element, "error", message=_fit(case.error))
    if case.failure:
        failure = ElementTree.SubElement(element, "failure", message=_fit(case.failure))
        failure.text = _fit(case.why)
    if case.skipped:
        ElementTree.SubElement(element, "skipped", message=_fit(case.skipped))
    for tag, text in (("system-out", case.out), ("system-err", case.err)):
        if text:
            ElementTree.SubElement(element, tag).text = _fit(text)


def _fit(text: str) -> str:
    """Replace what XML cannot have: control characters, halves of surrogate pairs."""
    return _NOT_IN_XML.sub("\ufffd", text)
