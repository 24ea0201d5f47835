"""Names of hosts, and files of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cli import parse
from stapy.options.option import UsageError
from stapy.remote import hosts

SCRIPT = ["-e", "probe begin {}"]


@pytest.mark.parametrize(
    ("uri", "destination", "port"),
    [
        ("web1", "web1", 0),
        ("me@web1.example.org", "me@web1.example.org", 0),
        ("ssh://web1", "web1", 0),
        ("ssh://me@web1:2222", "me@web1", 2222),
        ("ssh://web1:22/", "web1", 22),
        ("ssh://me@[fe80::1%eth0]:22", "me@fe80::1%eth0", 22),
        ("::1", "::1", 0),
        ("me@fe80::1", "me@fe80::1", 0),
    ],
)
def test_names(uri: str, destination: str, port: int) -> None:
    host = hosts.parse(uri, 3)
    assert (host.number, host.uri, host.destination, host.port) == (3, uri, destination, port)
    assert not host.is_direct


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("", "should be"),
        ("-oProxyCommand=x", "should be"),
        ("ssh://-oProxyCommand=x", "should be"),
        ("-x@web1", "should be"),
        ("a b", "should be"),
        ("web1;x", "should be"),
        ("web1:22", "a port is named by ssh://web1:22"),
        ("ssh://web1:0", "1 to 65535"),
        ("ssh://web1:70000", "1 to 65535"),
        ("libvirt://guest", "is not supported"),
        ("unix:/run/s", "is not supported"),
        ("bpf:", "is not supported"),
    ],
)
def test_no_names(uri: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse([f"--remote={uri}", *SCRIPT])


def test_a_file_of_hosts_of_another_system(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_bytes(b"\xef\xbb\xbfweb1\r\nweb2\r\n")
    assert parse([f"--remote-file={tmp_path}/hosts", *SCRIPT]).remotes == ["web1", "web2"]


def test_a_file_of_hosts(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# ours\nweb1\n\n  me@web2  # the second\nssh://web3:22\n")
    options = parse(["--remote=web0", f"--remote-file={file}", "--remote=web4", *SCRIPT])
    assert options.remotes == ["web0", "web1", "me@web2", "ssh://web3:22", "web4"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot read '.*hosts': No such file"),
        (b"# none\n", "names no host"),
        (b"\xff\n", "it is no text"),
        (b"web1\nweb 2\n", r"hosts:2: Invalid --remote 'web 2'"),
        (
            b"a b\nweb1\nbpf:\nweb:1\n",
            r"(?s)hosts:1: Invalid --remote 'a b'[^\n]*\n"
            r"[^\n]*hosts:3: --remote=bpf: is not[^\n]*\n[^\n]*hosts:4: [^\n]*ssh://web:1\)\.\Z",
        ),
    ],
)
def test_no_file_of_hosts(text: bytes | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "hosts").write_bytes(text)
    with pytest.raises(UsageError, match=why):
        parse([f"--remote-file={tmp_path}/hosts", *SCRIPT])


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--vm"], "--vm"),
        (["-r", "6.1"], "-r"),
        (["-F"], "-F"),
        (["-b"], "-b"),
        (["-DSTP_BULKMODE"], "-b"),
        (["--target-namespaces=1"], "--target-namespaces"),
        (["-l", "begin"], "-l"),
        (["--language-server"], "--language-server"),
        (["--build-in=auto", "--prepare"], "--prepare"),
    ],
)
def test_what_does_not_go_together(words: list[str], option: str) -> None:
    script = [] if words[0] == "-l" else SCRIPT
    with pytest.raises(UsageError, match=f"^{option}.* cannot be given with --remote: "):
        parse(["--remote=web1", *words, *script])


def test_loaded_modules_are_those_of_this_machine() -> None:
    options = parse(["--remote=web1", "--all-modules", *SCRIPT])
    assert not options.all_modules
    assert [text for text in options.notices if text.startswith("--all-modules has no effect")]
    options = parse(["--remote=direct://", "--all-modules", *SCRIPT])
    assert options.all_modules and not options.notices


def test_this_very_host_is_nothing_special() -> None:
    assert parse(["--remote=direct://", *SCRIPT]).remotes == []
    assert parse(["--remote=direct://", "--remote-prefix", *SCRIPT]).remotes == ["direct://"]
    assert parse(["--remote=direct://", "--remote=web1", *SCRIPT]).remotes
