"""A notebook is executed: its cells are sessions in a virtual machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.vm.harness import ROOT

pytestmark = [pytest.mark.build, pytest.mark.vm]

nbclient = pytest.importorskip("nbclient")
import nbformat  # noqa: E402

CELLS = (
    "%load_ext stapy.notebook",
    "%%stapy --vm=RELEASE --format=json -c '/bin/cat /etc/hostname'\n"
    "global reads, sizes\n"
    "probe vfs.read { if (pid() == target()) { reads[execname()]++; sizes <<< bytes_to_read } }\n"
    'probe end { printf("%d kinds\\n", 1); print(@hist_log(sizes)) }',
    "print(_.status, _.rows(), sorted(_.globals), _.globals['reads'])",
    "%%stapy --vm=RELEASE\nprobe nosuch {}",
)


def test_a_notebook(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(one.replace("RELEASE", release)) for one in CELLS]
    client = nbclient.NotebookClient(
        book, timeout=1200, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute(env={**os.environ})
    _, session, values, refused = (cell.outputs for cell in book.cells)
    said = "\n".join(map(str, session))
    assert "1 kinds" in _stream(session, "stdout"), said
    shown = [one.data for one in session if one.output_type == "display_data"]
    page = "".join(data.get("text/html", "") for data in shown)
    assert "<caption>reads</caption>" in page and ">cat<" in page, said
    assert "<caption>sizes</caption>" in page, said
    assert any("image/svg+xml" in data for data in shown), said
    out = _stream(values, "stdout")
    assert out.startswith("0 [{'arg1': 1}"), out + said
    assert "['reads', 'sizes'] {'cat': " in out, out
    mistake = _stream(refused, "stderr")
    assert "no probe point matches 'nosuch'" in mistake and "Traceback" not in mistake, mistake
    assert all(one.output_type != "error" for one in refused)


def _stream(outputs: list[nbformat.NotebookNode], name: str) -> str:
    return "".join(one.text for one in outputs if one.output_type == "stream" and one.name == name)
