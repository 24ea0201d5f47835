"""``stapy test``: what a file of cases may say, and which files are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.testing import companion
from stapy.testing.companion import CompanionError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a script."""
    monkeypatch.chdir(tmp_path)
    Path("a.stp").write_text("probe begin { exit() }\n")
    return tmp_path


def cases(text: str, name: str = "a.test.toml") -> None:
    Path(name).write_text(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no case: a table [case.NAME] is one"),
        ("x = [", "Invalid value (at end of document)"),
        ("[case.x]\nexpct = []", "case 'x': unknown key 'expct'; did you mean 'expect'?"),
        ("[case.x]\nzzz = 1", "unknown key 'zzz'; the keys are options, arguments, command, exp"),
        ("[defaults]\nstauts = 1\n[case.x]", "defaults: unknown key 'stauts'; did you mean"),
        ("cases = 1", "unknown key 'cases'; did you mean 'case'?"),
        ("[case]\nx = 1", "'case.x' must be a table"),
        ("case = 1", "'case' must be a table"),
        ('script = "gone.stp"\n[case.x]', "there is no script 'gone.stp'"),
        ("[case.x]\nexpect = 1", "'expect' must be a list, or a string with the lines"),
        ("[case.x]\nexpect = [1]", "case 'x': 'expect' must be a string"),
        ('[case.x]\nexpect = [{ re = "(" }]', "'expect': /(/ is no expression: missing )"),
        ('[case.x]\nexpect = [{ re = "a{99999999999}" }]', "is no expression: the repetition nu"),
        (f'[case.x]\nnever = [{{ re = "{"(" * 100_000}{")" * 100_000}" }}]', "are nested too deep"),
        (f"x = {'[' * 100_000}{']' * 100_000}", "'a.test.toml': its values are nested too deep"),
        (f"[case.x]\ntimeout = {'9' * 5000}", "Exceeds the limit"),
        (f'script = "{"n" * 300}"\n[case.x]', f"there is no script '{'n' * 300}'"),
        (f'[case.x]\nkernel = {{ from = "{"6" * 5000}" }}', "is no version such as 6.12"),
        ('[case.x]\nkernel = { from = "6.12xyz" }', "'6.12xyz' is no version such as 6.12"),
        ('[case.x]\nkernel = { below = "6.12\\n" }', "is no version such as 6.12"),
        ('[case.x]\nexpect = [{ rx = "a" }]', "a table here is { re = … } or { part = … }"),
        ('[case.x]\nexpect = [{ re = "a", part = "b" }]', "a table here is { re = … }"),
        ('[case.x]\nnever = [{ part = "" }]', "an empty 'part' would be any line"),
        ('[case.x]\nstderr = ["a\\nb"]', "each element is about one line, this one has several"),
        ('[case.x]\nexpect = []\noutput = ""\n', None),
        ('[case.x]\nexpect = ["a"]\noutput = ""\n', "'expect' has no place beside"),
        ('[case.x]\noptions = "\'"', "'options': No closing quotation"),
        ("[case.x]\noptions = [1]", "'options' must be a string"),
        ("[case.x]\narguments = 1", "'arguments' must be a string, or a list of strings"),
        ('[case.x]\ncommand = "a\\u0000"', "'command' has a byte of 0"),
        ("[case.x]\nstatus = 256", "'status' must be a number from 0 to 255"),
        ("[case.x]\nstatus = true", "'status' must be a number from 0 to 255"),
        ("[case.x]\ntimeout = 0", "'timeout' must be a number of seconds above 0"),
        ("[case.x]\ntimeout = nan", "'timeout' must be a number of seconds above 0"),
        ("[case.x]\ntimeout = 1e6", "seconds above 0 and below 1000000"),
        ('[case.x]\nkernel = { from = "new" }', "'kernel.from': 'new' is no version such as 6.12"),
        ('[case.x]\nkernel = { to = "6.1" }', "kernel: unknown key 'to'"),
        ('[case.x]\nkernel = "6.1"', "'kernel' must be a table"),
    ],
)  # fmt: skip
def test_files_of_cases(folder: Path, text: str, told: str | None) -> None:
    cases(text)
    if told is None:
        assert companion.read(Path("a.test.toml")).cases
        return
    with pytest.raises(CompanionError) as error:
        companion.read(Path("a.test.toml"))
    assert str(error.value).startswith("'a.test.toml': ") and told in str(error.value)


def test_a_script_whose_cases_no_file_could_have(folder: Path) -> None:
    name = "n" * 250 + ".stp"
    Path(name).write_text("")
    with pytest.raises(CompanionError, match=f"'{name}' has no cases: there is no file"):
        companion.find(name)


def test_defaults_are_for_all_cases(folder: Path) -> None:
    cases('[defaults]\nstatus = 3\noptions = "-g -u"\n[case.x]\n[case.y]\nstatus = 4\n')
    one, other = companion.read(Path("a.test.toml")).cases
    assert (one.status, one.options, one.timeout) == (3, ["-g", "-u"], companion.SECONDS)
    assert (other.name, other.status, other.options) == ("y", 4, ["-g", "-u"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_folders_that_we_may_not_enter(folder: Path) -> None:
    """They have nothing for us, and that is told in one line."""
    for name in ("shut", "listed"):
        Path(name).mkdir()
        cases("[case.x]", f"{name}/a.test.toml")
        Path(f"{name}/a.stp").write_text("probe begin {}\n")
    cases('script = "shut/a.stp"\n[case.x]')
    Path("shut").chmod(0)
    Path("listed").chmod(0o744)
    for one in (folder, *list(folder.parents)[:3]):
        one.chmod(0o755)
    told = []
    pid = os.fork()
    if pid == 0:
        try:
            os.setuid(65534)
            for look in ("shut/a.stp", "shut", "listed"):
                with pytest.raises(CompanionError) as error:
                    companion.find(look)
                told.append(str(error.value))
            with pytest.raises(CompanionError) as error:
                companion.read(Path("a.test.toml"))
            told.append(str(error.value))
            expected = ["'shut/a.stp': Permission denied",
                        "'shut': no file *.test.toml is in this folder",
                        "'listed': no file *.test.toml is in this folder",
                        "'a.test.toml': there is no script 'shut/a.stp' (the key 'script' names "
                        "another)"]  # fmt: skip
            os._exit(0 if told == expected else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
