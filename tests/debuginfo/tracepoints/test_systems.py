from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.tracepoints.systems import scan, trace_headers, trace_systems
from tests.debuginfo.world import make_kernel


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"#define TRACE_SYSTEM a\nTRACE_EVENT(x,\n", {"x": "a"}),
        (b"#define TRACE_SYSTEM a\nTRACE_EVENT_CONDITION( x ,\n", {"x": "a"}),
        (b"#define TRACE_SYSTEM a\nDEFINE_EVENT(class, x,\n", {"x": "a"}),
        (b"#define TRACE_SYSTEM a\nDEFINE_EVENT_FN(class,\n\t x,\n", {"x": "a"}),
        (b"#define TRACE_SYSTEM a\nDECLARE_TRACE(x,\n", {"x": "a"}),
        (b"#define TRACE_SYSTEM a\nDECLARE_EVENT_CLASS(x,\n", {}),
        (b"#define TRACE_SYSTEM a\nTRACE_EVENT_FLAGS(x, 1)\n", {}),
        (b"TRACE_EVENT(x,\n", {"x": ""}),
        (
            b"#define TRACE_SYSTEM a\nTRACE_EVENT(x,\n#undef TRACE_SYSTEM\n"
            b"#  define TRACE_SYSTEM b\nTRACE_EVENT(y,\n",
            {"x": "a", "y": "b"},
        ),
        (
            b"#define TRACE_SYSTEM irq\n#define DEFINE_IRQ_EVENT(name)\t\\\n"
            b"DEFINE_EVENT_FN(irq, name##_entry,\t\\\n\tTP_ARGS(v));\t\\\n"
            b"DEFINE_EVENT_FN(irq, name##_exit, TP_ARGS(v))\n\nDEFINE_IRQ_EVENT(timer);\n",
            {"timer_entry": "irq", "timer_exit": "irq"},
        ),
        (
            b"#define TRACE_SYSTEM w\n#define DEFINE_W_EVENT(kind, name) \\\n"
            b"DEFINE_EVENT(w_class, w_##kind##_##name, \\\n\tTP_ARGS(x))\n"
            b"DEFINE_W_EVENT(big, start);\n",
            {"w_big_start": "w"},
        ),
        (
            b"#define TRACE_SYSTEM s\n#define DEFINE_S(name) \\\n\tTRACE_EVENT(svc_##name, \\\n"
            b"\t\tTP_PROTO(int a))\nDEFINE_S(done);\n",
            {"svc_done": "s"},
        ),
    ],
)
def test_headers(text: bytes, found: dict[str, str]) -> None:
    assert dict(scan(text)) == found


def test_a_tree_has_more_than_files(tmp_path: Path) -> None:
    """Links to nowhere, pipes that nobody writes to, folders: they are not read."""
    kernel = make_kernel(tmp_path)
    folder = tmp_path / "source/include/trace/events"
    (folder / "gone.h").symlink_to("nowhere.h")
    (folder / "round.h").symlink_to("round.h")
    os.mkfifo(folder / "pipe.h")
    (folder / "folder.h").mkdir()
    (folder / "zlast.h").write_text("#define TRACE_SYSTEM last\nTRACE_EVENT(last_point,\n")
    cache = Cache(tmp_path / "cache")
    assert trace_headers(kernel, cache)["last_point"] == folder / "zlast.h"
    assert trace_systems(kernel, cache)["last_point"] == "last"
