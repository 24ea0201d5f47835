"""What a script is told while it is written: of its arguments, which nobody has given yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.editor.checking import messages_about
from stapy.kernel import find_kernel
from stapy.options import Options
from tests.editor.support import make_tree

SAMPLE = "# purpose: x\n# sample: stapy --example x vfs_read 2 -c 'true'\n"
READ = "probe kernel.function(@1) { println($2 + $count) }\n"


@pytest.mark.parametrize(
    ("text", "given", "told"),
    [
        # Those of the sample: what is behind them is looked at.
        (SAMPLE + READ, [], []),
        (SAMPLE + READ.replace("$count", "$cuont"), [], ["E0241"]),
        (SAMPLE.replace("stapy", "sudo stap") + READ, [], []),
        (SAMPLE + READ, ["vfs_readv"], ["E0241"]),
        # Without one, and with one that is none, each is 1; a function of that name is not missed.
        ("probe timer.s($1) { println(@2) }", [], []),
        ("probe timer.s($1) { println(nosuch) }", [], ["E0305"]),
        ("probe timer.s($1) { println(nosuch()) }", [], ["E0201"]),
        ("probe kernel.function(@1) { }", [], []),
        ("# sample: stapy 'x\n" + READ, [], []),
        ("# sample: stapy --nosuch x\n" + READ, [], []),
        (READ.replace("@1", '"nosuch"'), [], ["E0231"]),
        # A side that asks for no argument is the one that is looked at.
        (SAMPLE + "probe begin { println(%( $# > 0 %? nosuch() %: 1 %)) }", [], []),
        # What is no number of an argument, and one that cannot be meant.
        ("probe begin { println($0) }", [], ["E0106"]),
        ("probe begin { println($1 + $12A3) }", [], ["E0106"]),
        ("probe begin { println($1001) }", [], ["E0106"]),
    ],
)
def test_arguments(tmp_path: Path, text: str, given: list[str], told: list[str]) -> None:
    options = Options(release=f"{make_tree(tmp_path)}/", arguments=given)
    kernel = find_kernel(options.release, Diagnostics(SourceMap()))
    found = messages_about(options, kernel, "x.stp", text)
    assert [one.data["code"] for one in found if one.is_error] == told, [x.text for x in found]
