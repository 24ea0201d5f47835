"""What users write in points and variables of programs, and what they are told to write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stapy.debuginfo.elf import ElfFile
from stapy.ir.dump import dump_program
from tests.debuginfo.user.sources import built, compiled
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
        (
            'process("{path}").function("no{thing,where}") { println(1) }',
            '.{function("nothing"),function("nowhere")}',
        ),
        (
            'process("{path}").function("nothing|wide") { println(1) }',
            '.{function("nothing"),function("wide")}',
        ),
        ('process("/lib64/libc.so.6").function("malloc") { println(1) }', "'libc.so.6'"),
        ('process("/usr/lib64/libc-2.17.so").function("malloc") { println(1) }', "'libc.so.6'"),
        (
            'process("libpthread.so.0").function("pthread_mutex_lock") { println(1) }',
            'process("libc.so.6").function("pthread_mutex_lock")',
        ),
        ('process("stapio").begin { println(1) }', "apt-get install systemtap-runtime"),
        ('process("libphp8*.so*").begin { println(1) }', "apt-get install libphp-embed"),
        ('process("~/tool").begin { println(1) }', "/tool"),
        ('process("{path}").statement("hints.c:3") { println(1) }', '"*@hints.c:3"'),
        ('process("{path}").function("main") { println(@var("hitz")) }', "'hits'"),
        ('process("{path}").function("main") { println($hitz) }', '@var("hits")'),
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


@pytest.mark.parametrize("tail", ['mark("a")', 'function("none")', 'plt("none")'])
def test_a_script_stands_for_what_runs_it(tail: str, path: Path, tmp_path: Path) -> None:
    """Which is told where that has not got what was looked for."""
    script = tmp_path / "wrapper"
    script.write_text(f"#!{path}\n")
    (item,) = run(f'probe process("{script}").{tail} {{ next }}').diagnostics.items
    assert f"'{script}' is a script, which this program runs" in item.notes


@pytest.mark.parametrize("tail", ['mark("a")', 'function("none")', 'plt("none")'])
def test_a_script_in_front_of_a_program_of_its_name(
    tail: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As version managers have them: the program that is meant comes later in $PATH."""
    folders = [tmp_path / name for name in ("shims", "scripts", "texts", "bin", "later")]
    for folder in folders:
        folder.mkdir()
    for folder, text in zip(folders[:3], (f"#!{path}\n", "#!/no/such\n", "nothing"), strict=True):
        (folder / "tool-of-hints").write_text(text)
        (folder / "tool-of-hints").chmod(0o755)
    for folder in folders[3:]:
        shutil.copy(path, folder / "tool-of-hints")
    monkeypatch.setenv("PATH", ":".join(map(str, folders)))
    (item,) = run(f'probe process("tool-of-hints").{tail} {{ next }}').diagnostics.items
    assert (
        "behind it in $PATH is a program that is called tool-of-hints, too: "
        f'process("{tmp_path}/bin/tool-of-hints")'
    ) in item.notes


def test_a_script_that_path_does_not_find(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is behind it in $PATH: it was named by its own path."""
    (tmp_path / "bin").mkdir()
    shutil.copy(path, tmp_path / "bin" / "tool-of-hints")
    script = tmp_path / "tool-of-hints"
    script.write_text(f"#!{path}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    (item,) = run(f'probe process("{script}").function("none") {{ next }}').diagnostics.items
    means = f'process("{tmp_path}/bin/tool-of-hints")'
    assert f"in $PATH is a program that is called tool-of-hints, too: {means}" in item.notes


def test_a_script_whose_interpreter_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    result = run(f'probe process("{script}").begin {{ println(1) }}')
    assert result.codes == ["E0231"]
    assert "/no/such/interpreter" in result.shown()[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('@var("nosuch", "{path}")', "has no variable 'nosuch'"),
        ('@var("hitz", "{path}")', "did you mean 'hits'?"),
        ('@var("hits@other.c", "{path}")', "a variable 'hits', but none of a file 'other.c'"),
        ('@var("hits", "{path}x")', "No such file or directory"),
        ('@var("hits", "{path}x")', "did you mean '{path}'"),
        ('@var("hits", "{folder}x/tool-of-hints")', "did you mean '{path}'"),
        ('@var("hits", "{folder}")', "Is a directory"),
        ('@var("hits", "libcc.so.6")', "'libc.so.6'"),
        ('@var("hits", "tool-of-hints")', "'./tool-of-hints' is the one of this folder"),
        ('@cast(1, "struct nosuch", "{path}x")->a', "did you mean '{path}'"),
        ('@cast(1, "struct nosuch", "libcc.so.6")->a', "'libc.so.6'"),
    ],
)
def test_files_of_variables_and_casts(
    text: str, said: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Say what is wrong with the file or the name, once, and nothing of BTF and debug files."""
    monkeypatch.chdir(path.parent)

    def filled(words: str) -> str:
        return words.replace("{path}", str(path)).replace("{folder}", str(path.parent))

    result = run(
        f"probe process({str(path)!r}).begin {{ println({filled(text)}) }}".replace("'", '"')
    )
    (item,) = result.diagnostics.items
    assert item.code in ("E0241", "E0248")
    shown = " ".join([item.message, *item.notes, item.hint])
    assert filled(said) in shown
    assert "BTF" not in shown


@pytest.mark.parametrize("name", ["task_struct", "struct file"])
def test_a_type_that_a_named_program_has_not(name: str, path: Path) -> None:
    result = run(f'probe begin {{ println(@cast(1, "{name}", "{path}")->pid) }}')
    assert result.codes == ["E0248"]
    assert f"type definition '{name}' not found in '{path}'" in result.diagnostics.items[0].message


def test_a_type_of_another_file_than_the_named(path: Path) -> None:
    """The kernel's is taken only where it is named as well."""
    script = 'probe begin {{ println(@cast(1, "struct file", "{}x{}")->f_pos) }}'
    result = run(script.format(path, ":kernel"))
    assert result.codes == ["W0680"]
    assert str(path) in result.diagnostics.items[0].hint
    result = run(script.format(path, ""))
    assert result.codes == ["E0248"]
    assert str(path) in result.diagnostics.items[0].hint


def test_paths_are_named_as_the_other_process_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """--target-namespaces: what was found by /proc/PID/root is called what the script calls it."""
    from stapy.debuginfo import view
    from stapy.diagnostics import Diagnostic
    from stapy.options import Options
    from stapy.session.messages import PassMessages

    monkeypatch.setattr(view, "_root", "/proc/77/root")
    item = Diagnostic(
        Diagnostic.ERROR, "semantic error", "E0231", "cannot probe '/proc/77/root/bin/x'",
        notes=["/proc/77/root/bin/x: none"], hint="did you mean '/proc/77/root/bin/y'?",
    )  # fmt: skip
    text = PassMessages(Options(message_format="rich")).drawn(item)
    assert "'/bin/x'" in text and "/bin/x: none" in text and "'/bin/y'" in text
    assert "/proc/" not in text


def test_no_file_of_ours_for_another_process(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--target-namespaces: a relative path would begin at the root of that process."""
    from stapy.debuginfo import view

    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(view, "_root", str(tmp_path))
    for point in ('process("tool-of-hints").begin', 'begin { println(@var("x", "tool-of-hints"))'):
        (item,) = run(f"probe {point} {{ println(1) }}" + "}" * point.count("{")).diagnostics.items
        assert "./tool-of-hints" not in item.hint


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('function("nothing") { println($a) }', "variables of '{path}' need"),
        ('function("nothing") { println(@cast(1, "row", "{path}")->a) }', "types of '{path}' need"),
        ('function("nothin") { println(1) }', "only exported names are known"),
        ('function("nothin") { println($a) }', "only exported names are known"),
    ],
)
def test_what_a_stripped_program_lacks_has_a_command(
    text: str, note: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a name is like the one that was typed, both are told: it may be stripped."""
    monkeypatch.setattr("stapy.debuginfo.user.packages.debug_command", lambda file: "get DEBUG")
    bare = compiled(tmp_path, PROGRAM, "-O1", "-s", "-rdynamic")
    script = f'probe process("{bare}").' + text.replace("{path}", str(bare))
    (item,) = run(script).diagnostics.items
    assert note.replace("{path}", str(bare)) in " ".join(item.notes)
    is_near = 'nothin")' in text
    assert ("did you mean 'nothing'" in item.hint) == is_near
    assert ("other names are in its debug information, which is not here" in item.notes) == is_near
    assert "its debug package has them: get DEBUG" in (item.notes if is_near else [item.hint])


def test_names_that_cannot_be_read_are_no_stripped_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is told as what it is, once, and no package is looked for."""
    names = "".join(f"void f{number:0390}(void) {{}}\n" for number in range(400))
    bare = compiled(tmp_path, f"{PROGRAM}{names}", "-O0")
    elf = ElfFile.open(bare)
    strings = elf.section(".strtab")
    assert strings
    data = bytearray(bare.read_bytes())
    there = slice(strings.offset, strings.offset + strings.size)
    data[there] = data[there].replace(b"\0", b"n")[:-1] + b"\0"
    bare.write_bytes(data)
    for text in ('function("nothing")', "function(0x1)", 'function("nothing").return'):
        result = run(f'probe process("{bare}").{text} {{ println(1) }}')
        (error,) = result.diagnostics.items
        assert capsys.readouterr().out.count(f"{bare}: its names lie one over the other") == 1
        said = " ".join((error.message, error.hint, *error.notes))
        assert "stripped" not in said and "package" not in said and "only" not in said
        assert ("its tables of names cannot be read" in said) == ("nothing" in text)


def test_a_call_without_a_stub(tmp_path: Path) -> None:
    text = "#include <stdio.h>\nint main(int c, char **v) { return puts(v[0]) < 0; }"
    path = compiled(tmp_path, text, "-O1", "-fno-plt", "-Wl,-z,now")
    result = run(f'probe process("{path}").plt("puts") {{ println(1) }}')
    (item,) = result.diagnostics.items
    assert item.notes == [f"'{path}' calls 'puts' without a stub, as -fno-plt has it done"]
    assert item.hint.startswith('.library("*").function("puts")')
    tail = item.hint.partition(" is ")[0]
    found = run(f'probe process("{path}"){tail} {{ println(1) }}')
    assert found.program is not None, found.shown()


def test_a_variable_in_a_namespace(tmp_path: Path) -> None:
    text = """namespace shop { int total; struct Till { static int number; }; int Till::number; }
    int main() { return shop::total + shop::Till::number; }"""
    (tmp_path / "shop.cc").write_text(text)
    path = built(tmp_path / "shop", "-x", "c++", "-g", "-O0", str(tmp_path / "shop.cc"))
    for name, whole in {"total": "shop::total", "number": "shop::Till::number"}.items():
        point = f'probe process("{path}").function("main")'
        result = run(f'{point} {{ println(@var("{name}")) }}')
        assert result.diagnostics.items[0].hint == f"did you mean '{whole}'?"
        result = run(f"{point} {{ println(${name}) }}")
        assert result.diagnostics.items[0].hint == f'did you mean @var("{whole}")?'
        found = run(f'{point} {{ println(@var("{whole}")) }}')
        assert found.program is not None, found.shown()


@pytest.mark.parametrize(
    ("point", "options", "is_told"),
    [
        ('process("{path}").function("many*")', {}, True),
        ('process("{path}").function("many*").return', {}, True),
        ('process("{path}").function("many1*")', {}, False),
        ('process("{path}").function("many*")', {"command": "/bin/true"}, False),
        ('process("{path}").function("many*")', {"target": 1}, False),
        ('process("/bin/true").library("{path}").function("many*")', {}, False),
    ],
)
def test_many_places_in_every_process(
    point: str, options: dict[str, object], is_told: bool, tmp_path: Path
) -> None:
    """Who means one program is told of the pattern that arms all of them."""
    text = "".join(f"int many{number}(int n) {{ return n + {number}; }}\n" for number in range(300))
    path = compiled(tmp_path, text, "-O1", "-shared", "-fPIC", name="libmany.so")
    result = run(f"probe {point.format(path=path)} {{ println(1) }}", **options)
    assert result.program is not None, result.shown()
    told = [item for item in result.diagnostics.items if item.code == "W0697"]
    assert [item.message for item in told] == (
        [f"300 probes in every process that maps '{path}'"] if is_told else []
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Cart.add", "shop::Cart::add"),
        ("cart->add(3)", "shop::Cart::add"),
        ("shop::price(int)", "shop::price"),
        ("shop::prise(int)", "shop::price"),
    ],
)
def test_a_function_of_cpp_that_is_written_as_a_call(
    written: str, meant: str, tmp_path: Path
) -> None:
    text = tmp_path / "shop.cpp"
    text.write_text("""namespace shop {
    struct Cart { int total; void add(int price); };
    void Cart::add(int price) { total += price; }
    int price(int number) { return number; } }
    int main() { shop::Cart cart{}; cart.add(shop::price(3)); return cart.total; }""")
    path = built(tmp_path / "shop", str(text), "-g", "-O0")
    (item,) = run(f'probe process("{path}").function("{written}") {{ next }}').diagnostics.items
    assert item.hint == f"did you mean '{meant}'?"
    assert run(f'probe process("{path}").function("{meant}") {{ next }}').codes == []


@pytest.mark.parametrize(
    ("options", "said", "is_kept"),
    [
        (("-s", "-Wl,--build-id=sha1"), "build it with -g, and do not strip it, or put", True),
        (("-s", "-Wl,--build-id=none"), "build it with -g, and do not strip it", False),
    ],
)
def test_a_stripped_program_of_no_package(
    options: tuple[str, ...], said: str, is_kept: bool, tmp_path: Path
) -> None:
    bare = compiled(tmp_path, PROGRAM, "-O1", *options)
    (item,) = run(f'probe process("{bare}").function("nothing") {{ next }}').diagnostics.items
    assert item.hint.startswith(said)
    if is_kept:
        place = Path(item.hint.rpartition(" ")[2])
        assert place.parent.parent == Path("/usr/lib/debug/.build-id")
        assert len(place.parent.name + place.stem) == 40
    else:
        assert item.hint == said


def test_variables_of_a_program_without_debug_information(tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-O1")
    result = run(f'probe process("{path}").function("nothing") {{ println($a) }}')
    (item,) = result.diagnostics.items
    assert item.hint.startswith("build it with -g, or put"), result.shown()
