"""Globals in the text formats of Prometheus: OpenMetrics 1.0, and the older one."""

from __future__ import annotations

from .records import bounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Sequence, Tuple, TypedDict

    from .ground.manifest import Shape

    Labels = Sequence[Tuple[str, str]]
    Sample = Tuple[str, Labels, str]  # what follows the name, labels, value

    class Aggregate(TypedDict, total=False):
        """What an aggregate has; with values, all but the buckets, which histograms have."""

        count: int
        sum: int
        min: int
        max: int
        buckets: List[Tuple[int, int]]  # their numbers, and how many values lie there

    class GlobalMetric(TypedDict, total=False):
        """A global: an array has names for its keys; elements that do not fit are left out."""

        name: str
        type: str
        labels: List[str]
        left_out: int
        shape: Shape
        rows: List[List[Any]]  # keys, then the value, which is of the type

    class MetricStatus(TypedDict):
        """What the module's file has: seconds, bytes, hits."""

        module: str
        uptime: float
        memory: int
        skipped: int
        globals: List[GlobalMetric]


OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "stapy_"
# What samples of each type have behind the family's name.
_SUFFIXES = {
    "counter": ("_total",),
    "gauge": ("",),
    "info": ("_info",),
    "summary": ("_count", "_sum"),
    "histogram": ("_bucket", "_count", "_sum"),
}


class MetricText:
    """Writes families of metrics; two of them never have samples of one name."""

    def __init__(self, is_open: bool) -> None:
        self._is_open = is_open
        self._taken: "set[str]" = set()
        self._lines: List[str] = []

    def add(self, name: str, kind: str, help: str, samples: "Sequence[Sample]") -> None:
        """Write a family, under another name when one of its names is taken."""
        if kind == "counter" and name.endswith("_total"):
            name = name[: -len("_total")]
        family = name = _PREFIX + name
        number = 1
        while self._taken.intersection(self._names(family, kind)):
            number += 1
            family = f"{name}_{number}"
        self._taken.update(self._names(family, kind))
        shown, type_ = family, kind
        if not self._is_open and kind in ("counter", "info"):
            shown, type_ = family + _SUFFIXES[kind][0], "counter" if kind == "counter" else "gauge"
        self._lines.append(f"# TYPE {shown} {type_}\n# HELP {shown} {_escaped(help, False)}\n")
        for suffix, labels, value in samples:
            inside = ",".join(f'{key}="{_escaped(text, True)}"' for key, text in labels)
            self._lines.append(
                f"{family}{suffix}{{{inside}}} {value}\n"
                if inside
                else f"{family}{suffix} {value}\n"
            )

    def _names(self, family: str, kind: str) -> "List[str]":
        return [family, *(family + suffix for suffix in _SUFFIXES[kind])]

    def data(self) -> bytes:
        """Return all that was written."""
        end = "# EOF\n" if self._is_open else ""
        return ("".join(self._lines) + end).encode("utf-8", "backslashreplace")


def _escaped(text: str, is_label: bool) -> str:
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if is_label else text


def write(status: MetricStatus, is_open: bool) -> bytes:
    """Write what the module's file has."""
    text = MetricText(is_open)
    module = [("module", str(status["module"]))]
    text.add("session", "info", "the session that is traced", [("_info", module, "1")])
    text.add(
        "uptime_seconds",
        "gauge",
        "seconds since the module was loaded",
        [("", (), str(status["uptime"]))],
    )
    text.add(
        "memory_bytes",
        "gauge",
        "memory of arrays, statistics, strings and buffers",
        [("", (), str(status["memory"]))],
    )
    text.add(
        "skipped_hits",
        "counter",
        "hits of probes that were skipped",
        [("_total", (), str(status["skipped"]))],
    )
    left = [
        ("", [("global", row["name"])], str(row["left_out"]))
        for row in status["globals"]
        if "labels" in row
    ]
    if left:
        text.add(
            "elements_left_out", "gauge", "elements of arrays that are too many to be told", left
        )
    for row in status["globals"]:
        _global(text, row)
    return text.data()


def _global(text: MetricText, row: GlobalMetric) -> None:
    labels, kind, name = row.get("labels", []), row["type"], row["name"]
    # An element that was deleted and is there again may come twice.
    found = {tuple(map(str, one[:-1])): one[-1] for one in row["rows"]}
    rows: "List[Tuple[Labels, Any]]" = [
        (list(zip(labels, keys)), value) for keys, value in found.items()
    ]
    help = f"global {name} of the script"
    if kind == "counter" and any(value < 0 for _, value in rows):
        kind = "gauge"  # it went round
    samples: List[Sample]
    if kind == "info":
        samples = [("_info", [*keys, ("value", value)], "1") for keys, value in rows]
    elif kind == "summary":
        samples = [one for keys, value in rows for one in _sums(keys, value)]
    elif kind == "histogram":
        samples = [one for keys, value in rows for one in _buckets(keys, value, row["shape"])]
    else:
        suffix = "_total" if kind == "counter" else ""
        samples = [(suffix, keys, str(value)) for keys, value in rows]
    text.add(name, kind, help, samples)
    if kind in ("summary", "histogram"):
        for member, word in (("min", "minimum"), ("max", "maximum")):
            ends = [("", keys, str(value[member])) for keys, value in rows if value["count"]]
            text.add(f"{name}_{word}", "gauge", f"{word} of {help}", ends)


def _float(value: int) -> str:
    """Write a bound as Go does, which is what OpenMetrics calls canonical."""
    text = repr(float(value))
    if abs(value) < 10**6 or "e" in text:
        return text
    sign, digits = ("-", text[1:-2]) if value < 0 else ("", text[:-2])
    mantissa = f"{digits[0]}.{digits[1:]}".rstrip("0").rstrip(".")
    return f"{sign}{mantissa}e+{len(digits) - 1:02d}"


def _sums(keys: "Labels", value: Aggregate) -> "Iterator[Sample]":
    yield "_count", keys, str(value["count"])
    if _only_grows(value):
        yield "_sum", keys, str(value["sum"])


def _only_grows(value: Aggregate) -> bool:
    """Tell whether a sum is a counter, which has no place where it may go down, or went round."""
    return not value["count"] or (value["min"] >= 0 and value["sum"] >= 0)


def _buckets(keys: "Labels", value: Aggregate, shape: "Shape") -> "Iterator[Sample]":
    """Write cumulative buckets: the bounds of those that have values."""
    total = 0
    edges: Dict[int, int] = {}
    for number, count in value.get("buckets", ()):
        low, high = bounds(shape, number)
        # Where nothing is negative, 0 is the least.
        if low is not None and (low or total):
            edges.setdefault(low - 1, total)
        total += count
        if high is not None:
            edges[high] = total
    for edge, count in edges.items():
        yield "_bucket", [*keys, ("le", _float(edge))], str(count)
    yield "_bucket", [*keys, ("le", "+Inf")], str(total)
    # A count does not go without a sum, nor a sum with buckets below 0, whatever is in them.
    if _only_grows(value) and not any(edge < 0 for edge in edges):
        yield "_count", keys, str(total)
        yield "_sum", keys, str(value["sum"])
