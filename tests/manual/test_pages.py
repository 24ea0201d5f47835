"""What is made of the comments: ``docs/`` is up to date, and man has no complaint."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.manual import markdown, roff
from stapy.manual.library import Reference, open_reference

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reference() -> Reference:
    return open_reference()


def test_documents_are_up_to_date(reference: Reference) -> None:
    made = markdown.pages(reference)
    kept = {f"tapsets/{path.name}" for path in (ROOT / "docs/tapsets").iterdir()} | {"probes.md"}
    assert kept == set(made), "make docs"
    stale = [name for name, text in made.items() if (ROOT / "docs" / name).read_text() != text]
    assert stale == [], "make docs"


def test_a_page_of_markdown(reference: Reference) -> None:
    """What is derived stands there: contexts, places, tools and recipes that use a name."""
    made = markdown.pages(reference)
    page = made["tapsets/core-context.md"]
    assert "\nSince: stapy 0.1.0, where no other release is named.\n" in page
    told = page.partition("## tid()")[2].partition("\n## ")[0]
    assert "\nContext: Is about the current task;" in told
    assert re.search(r"\nUsed by: \[\w+\]\(\.\./\.\./examples/\w+/\w+\.stp\), ", told)
    assert re.search(r"\nIn the cookbook: \[[^]]+\]\(\.\./cookbook\.md#[\w-]+\) · \[", told)
    vfs = made["tapsets/kernel-vfs.md"].partition("## vfs.read\n")[2]
    assert '\nStands for: `kernel.function("vfs_read")`\n' in vfs
    assert (
        "| stands for |" in made["tapsets/user-ruby.md"]
        or "Stands for: `process(" in (made["tapsets/user-ruby.md"])
    )


def test_every_function_has_a_man_page(reference: Reference) -> None:
    made = roff.pages(reference)
    names = {name for name in reference.library.function_names() if not name.startswith("_")}
    missing = {name for name in names if f"function::{name}.3stapy" not in made}
    # Those that only some kernels, or other languages than the newest, have.
    assert missing <= {"module_size"}, missing
    page = made["function::strpos.3stapy"]
    assert ".TH FUNCTION::STRPOS 3stapy" in page
    assert "function::strpos \\- where a string contains another one first\n" in page
    assert "strpos:long(s1:string, s2:string)\n" in page
    assert ".B s2\nwhat to look for\n" in page
    assert ".SH SINCE\nstapy 0.1.0\n" in page
    assert ".SH USED BY\n" in made["function::tid.3stapy"]
    assert "Also for unprivileged users" in page.partition(".SH CONTEXT\n")[2]
    assert ".SH probe vfs.read\na file is read\n" in made["tapset::vfs.3stapy"]
    assert (
        '\nExample:\n.PP\n.nf\nprobe nfs.fop.open { printf("%s: ' in made["tapset::nfs_fop.3stapy"]
    )
    assert ".B timer.hz(N)\n" in made["stapyprobes.3stapy"]


def test_groff_has_no_complaint(reference: Reference, tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    made = roff.pages(reference)
    for name, text in made.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-z", *sorted(made)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0), done.stderr[:2000]
