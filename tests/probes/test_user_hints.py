"""What users write in points and variables of programs, and what they are told to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.ir.dump import dump_program
from tests.debuginfo.user.sources import compiled
from tests.elaborate.support import run

pytestmark = pytest.mark.slow

PROGRAM = """int hits;
__attribute__((noipa)) void nothing(int a) { hits += a; }
__attribute__((noipa)) long double wide(int a) { return a; }
int main(void) { nothing(3); return (int)wide(hits); }
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("hints"), PROGRAM, "-g", "-O1", name="tool-of-hints")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('process("tool-of-hints").function("main") { println(1) }', 'process("./tool-of-hints")'),
        ('process("./tool-of-hint").function("main") { println(1) }', "/tool-of-hints'"),
        ('process("libc").function("malloc") { println(1) }', 'process("libc.so.6")'),
        ('process("~/tool").begin { println(1) }', "/tool"),
        ('process("{path}").statement("hints.c:3") { println(1) }', '"*@hints.c:3"'),
        ('process("{path}").function("main") { println(@var("hitz")) }', "'hits'"),
        ('process("{path}").function("nothing") { println($$parm$$) }', "'$$parms'"),
        ('process("{path}").function("nothing") { println(a + 1) }', "'$a'"),
        ('process("{path}").function("nothing").return { println($return) }', "(void)"),
        ('process("{path}").function("wide").return { println($return) }', "long double"),
        ("end { println(@avg(latence)) } global latency", "'latency'"),
        ("begin { answer = 3 println(answre) println(answer) }", "'answer'"),
        ('python.module("a").function("b") { next } probe python.x = end {}', "python3.module"),
    ],
)
def test_hints(text: str, said: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    result = run("probe " + text.replace("{path}", str(path)))
    item = result.diagnostics.items[0]
    assert said in " ".join([item.message, *item.notes, item.hint]), result.shown()


def test_a_group_has_no_result_of_a_void_function(path: Path) -> None:
    result = run(
        f'probe process("{path}").function("nothing").return {{ println("<", $$return, ">") }}'
    )
    assert result.codes == []
    assert result.program is not None and "return=" not in dump_program(
        result.program, with_bodies=True
    )


def test_a_script_whose_interpreter_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    result = run(f'probe process("{script}").begin {{ println(1) }}')
    assert result.codes == ["E0231"]
    assert "/no/such/interpreter" in result.shown()[0]
