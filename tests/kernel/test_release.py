from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stapy.kernel.release import (
    base_release,
    compare_versions,
    distribution,
    install_command,
    is_line,
    line_and_flavour,
    newest_of,
    release_order,
    version_tuple,
)

TEXTS = st.text("0012.9a-~", max_size=8)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        ("2.6.9", "2.6.10"),
        ("2.6.32", "3.0"),
        ("6.1", "6.1.0"),
        ("6.1.0-9", "6.1.0-56"),
        ("6.9", "6.12.117+deb12"),
        ("1.001", "1.01"),
        ("1.01", "1.0"),
        ("1.0", "1.1"),
        ("", "0"),
        ("a", "b"),
        ("4.8", "4.8rc"),
    ],
)
def test_order(smaller: str, larger: str) -> None:
    assert compare_versions(smaller, larger) < 0
    assert compare_versions(larger, smaller) > 0
    assert compare_versions(smaller, smaller) == 0


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [("6.9", "6.12"), ("6.1.0-9", "6.1.0-12"), ("6.12", "6." + "9" * 5000), ("6.1", "6.1.0")],
)
def test_order_of_releases(smaller: str, larger: str) -> None:
    assert release_order(smaller) < release_order(larger)


@given(TEXTS, TEXTS, TEXTS)
def test_the_c_library_agrees(head: str, a: str, b: str) -> None:
    try:
        compare = ctypes.CDLL(None).strverscmp
    except AttributeError:
        pytest.skip("the C library has no strverscmp")
    left, right = head + a, head + b
    expected = sign(compare(left.encode(), right.encode()))
    assert sign(compare_versions(left, right)) == expected


@pytest.mark.parametrize(
    ("release", "numbers", "base"),
    [
        ("6.12.117+deb12-cloud-amd64", (6, 12, 117), "6.12.117+deb12"),
        ("6.1.0-56-cloud-amd64", (6, 1, 0), "6.1.0"),
        ("6.13-rc1", (6, 13), "6.13"),
        ("5.14.0-362.el9.x86_64", (5, 14, 0), "5.14.0"),
        ("next", (), "next"),
        # Python makes no number of thousands of digits.
        (f"6.{'9' * 5000}-x", (6, 10**18), f"6.{'9' * 5000}"),
        (f"6.{'0' * 5000}12", (6, 12), f"6.{'0' * 5000}12"),
    ],
)
def test_parts(release: str, numbers: tuple[int, ...], base: str) -> None:
    assert version_tuple(release) == numbers
    assert base_release(release) == base


@pytest.mark.parametrize(
    ("purpose", "system", "command"),
    [
        ("headers", "debian", "apt-get install linux-headers-6.1"),
        ("debuginfo", "debian", "apt-get install linux-image-6.1-dbg"),
        ("image", "debian", "apt-get install linux-image-6.1"),
        ("debuginfo", "ubuntu", "apt-get install linux-image-6.1-dbgsym"),
        ("headers", "fedora", "dnf install kernel-devel-6.1"),
        ("headers", "arch", "pacman -S linux-headers"),
        ("debuginfo", "arch", ""),
        ("headers", "", ""),
    ],
)
def test_packages(purpose: str, system: str, command: str) -> None:
    assert install_command(purpose, "6.1", system) == command


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ID=debian\n", "debian"),
        ('NAME="x"\nID="linuxmint"\nID_LIKE="ubuntu debian"\n', "ubuntu"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "fedora"),
        ("ID=plan9\n", ""),
        ("", ""),
    ],
)
def test_distributions(tmp_path: object, text: str, name: str) -> None:
    path = f"{tmp_path}/os-release"
    with open(path, "w") as file:  # noqa: PTH123
        file.write(text)
    distribution.cache_clear()
    assert distribution(path) == name
    assert distribution(path + "-missing") == ""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("6.1", "6.1.0-56-cloud-amd64"),
        ("6.1-amd64", "6.1.0-9-amd64"),
        ("6.1-cloud", "6.1.0-56-cloud-amd64"),
        ("6.1-cloud-amd64", "6.1.0-56-cloud-amd64"),
        ("6.1-arm64", ""),
        ("6.1-rt", ""),
        ("6-amd64", "6.12.117+deb12-amd64"),
        ("6.12-rt", "6.12.9-rt-amd64"),
        ("6.12", "6.12.117+deb12-amd64"),
        ("6", "6.12.117+deb12-amd64"),
        ("6.12.117", "6.12.117+deb12-amd64"),
        ("5.10", ""),
        ("6.1.0-9", ""),
    ],
)
def test_the_newest_of_a_line(line: str, found: str) -> None:
    have = ["6.1.0-9-amd64", "6.1.0-56-cloud-amd64", "6.12.117+deb12-amd64", "6.12.9-amd64"]
    have.append("6.12.9-rt-amd64")
    assert is_line(line) == ("-" not in line)
    assert (line_and_flavour(line) is not None) == (line != "6.1.0-9")
    if line_and_flavour(line):
        assert newest_of(line, have, "amd64") == found


@pytest.mark.parametrize(
    "name",
    ["6.18-own", "6.9.7-arch1-1", "6.13-rc1", "6.1-", "6.1-cloud-x", "next", "6.1.0-9-amd64"],
)
def test_what_is_no_line(name: str) -> None:
    assert line_and_flavour(name) is None
