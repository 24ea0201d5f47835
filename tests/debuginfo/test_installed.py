"""The kernels installed on this machine, with pahole as the oracle for struct layouts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.facts import kernel_facts
from stapy.debuginfo.loading import packed_symbols
from stapy.debuginfo.symbols.table import PackedSymbols, is_function, section_of
from stapy.debuginfo.tracepoints.systems import image_systems, trace_systems
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import Kernel, find_kernel, installed_releases
from stapy.probes.blocklist import reason

from .elfwriter import ElfWriter

pytestmark = pytest.mark.build

RELEASES = [name for name in installed_releases() if Path(f"/boot/vmlinuz-{name}").is_file()]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module", params=RELEASES or [""])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    if not request.param:
        pytest.skip("no kernel with headers and image is installed")
    return find_kernel(request.param, Diagnostics(SourceMap()))


@pytest.fixture(scope="module")
def debuginfo(kernel: Kernel, cache: Cache) -> Debuginfo:
    made = Debuginfo(kernel, cache, Diagnostics(SourceMap()))
    if made.btf is None:
        pytest.skip(f"kernel {kernel.release} has no BTF")
    return made


def test_a_function_and_its_parameters(debuginfo: Debuginfo) -> None:
    site = debuginfo.function("vfs_read")
    assert site is not None
    assert (site.source, site.section) == ("BTF", "")
    assert site.type is not None
    assert c.c_name(site.type, "vfs_read") == (
        "ssize_t vfs_read(struct file *, char *, size_t, loff_t *)"
    )


def test_every_described_function_has_a_symbol(debuginfo: Debuginfo) -> None:
    symbols = debuginfo.loaded.symbols
    assert symbols is not None
    assert debuginfo.btf is not None
    known = {name for name, kind in symbols.rows("") if kind[0] in "tTwW"}
    described = set(debuginfo.btf.functions())
    assert len(described) > 30000
    assert described <= known
    assert {"_stext", "_text"} <= {name for name, _ in symbols.rows("_")}


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("vfs_read", ""),
        ("start_kernel", ".init.text"),
        ("do_int3", "NOKPROBE_SYMBOL"),
        ("asm_exc_int3", ".entry.text"),
        ("vfs_reed", None),
    ],
)
def test_what_must_not_be_probed(debuginfo: Debuginfo, name: str, section: str | None) -> None:
    site = debuginfo.function(name)
    assert (site.section if site else None) == section


def test_one_name_and_the_whole_list_agree(debuginfo: Debuginfo, kernel: Kernel) -> None:
    fresh = Debuginfo(kernel, Cache(Path("/nowhere"), False), Diagnostics(SourceMap()))
    symbols, listed = fresh.loaded.symbols, debuginfo.loaded.symbols
    assert symbols is not None
    assert listed is not None
    rows: dict[str, list[str]] = {}
    for name, kind in listed.rows(""):
        rows.setdefault(name, []).append(kind)
    for name in sorted(rows)[::997]:
        assert sorted(symbols.kinds(name)) == sorted(rows[name])


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("__x64_sys_getp*d", {"getpgid", "getpid", "getppid"}),
        ("__[ix]*_sys_getpid", {"__ia32_sys_getpid"}),  # two names of one function
        ("*_sys_getpid", {"__do_sys_getpid"}),
        ("_[st]*text", set()),  # the section begins where its first function does
    ],
)
def test_second_names(debuginfo: Debuginfo, pattern: str, names: set[str]) -> None:
    sites = debuginfo.functions(pattern)
    assert {site.name.removeprefix("__x64_sys_") for site in sites} == names
    assert all(site.type is not None for site in sites)


@pytest.mark.parametrize("name", ["vfs_read", "m_show"])  # of the second there are several
def test_link_addresses(debuginfo: Debuginfo, kernel: Kernel, cache: Cache, name: str) -> None:
    packed = packed_symbols(kernel, cache)
    assert packed is not None
    at = {row: address for row, _, address in packed.tables.symbols()}
    for address in (at[name], at[name] + 5):
        found = debuginfo.function_at(address)
        assert found is not None
        assert (found.site.name, found.address) == (name, at[name])
        assert at[found.symbol] + found.offset == at[name]
        assert len(packed.kinds(found.symbol)) == 1
    assert debuginfo.function_at(at["jiffies"]) is None
    assert debuginfo.function_at(1) is None


def test_the_build_id_is_the_kernels(debuginfo: Debuginfo, kernel: Kernel) -> None:
    tree = kernel.build_dir / "vmlinux" if kernel.build_dir else None
    assert re.fullmatch("[0-9a-f]{40}", debuginfo.loaded.build_id)
    if tree is not None and tree.is_file():
        from stapy.debuginfo.elf import ElfFile

        assert ElfFile.open(tree).build_id() in ("", debuginfo.loaded.build_id)


def test_tracepoints_have_systems(debuginfo: Debuginfo) -> None:
    points = debuginfo.tracepoints("*")
    assert len(points) > 500
    assert not [point.name for point in points if not point.system]
    (switch,) = debuginfo.tracepoints("sched:sched_switch")
    assert [p.name for p in switch.params][:3] == ["preempt", "prev", "next"]
    # Its header lies beside the code and is not installed; this one has no event.
    for pattern in ("vsyscall:emulate_vsyscall", "sched:pelt_cfs_tp"):
        assert len(debuginfo.tracepoints(pattern)) == 1
    assert not debuginfo.tracepoints("sched:emulate_vsyscall")


def test_the_image_and_the_headers_agree_on_systems(
    debuginfo: Debuginfo, kernel: Kernel, cache: Cache
) -> None:
    assert debuginfo.btf is not None
    by_header = trace_systems(kernel, cache)
    by_image = image_systems(kernel, debuginfo.btf, cache)
    assert len(by_image) > 500
    other = {name for name, system in by_image.items() if by_header.get(name, system) != system}
    assert not other


def test_tracepoints_of_modules_have_systems(debuginfo: Debuginfo) -> None:
    points = debuginfo.tracepoints("*", "*")
    assert not [(point.module, point.name) for point in points if not point.system]


def test_a_module(debuginfo: Debuginfo, kernel: Kernel) -> None:
    if kernel.modules.path("xfs") is None:
        pytest.skip("this kernel has no xfs module")
    site = debuginfo.function("xfs_file_read_iter", "xfs")
    assert site is not None
    assert site.type is not None
    assert c.c_name(site.type, "f") == "ssize_t f(struct kiocb *, struct iov_iter *)"


def test_facts(debuginfo: Debuginfo, kernel: Kernel) -> None:
    text = kernel_facts(kernel, debuginfo.btf, kernel.exports)
    assert "STAPY_HAVE_TASK_STATE_UNDERSCORE" in text
    assert "STAPY_HAVE_FOR_EACH_KERNEL_TRACEPOINT  1 /* Module.symvers */" in text


def test_the_first_run_is_short(kernel: Kernel, tmp_path: Path) -> None:
    before = os.times()
    made = Debuginfo(kernel, Cache(tmp_path), Diagnostics(SourceMap()))
    assert made.function("vfs_read") is not None
    after = os.times()
    # The budget is 0.4 s on an idle machine; this only guards the order of magnitude.
    assert sum(after[:4]) - sum(before[:4]) < 4


Row = tuple[str, int]
_MEMBER = re.compile(
    r"(?:\(\*+\s*(?P<call>\w+)|(?P<name>\w+))(?:\[[^\]]*\])*(?:\)\(.*\))?(?::(?P<bits>\d+))?"
    r"(?:\s*__attribute__\(\(.*\)\))?;\s*/\*\s+(?P<offset>\d+)(?::\s*(?P<bit>\d+))?\s+\d+\s*\*/"
)


def pahole_rows(text: str) -> dict[str, set[Row]]:
    """Map structs to ``(member, bit offset)``, members of anonymous structs included."""
    found: dict[str, set[Row]] = {}
    rows: set[Row] = set()
    for line in text.splitlines():
        if head := re.match(r"struct (\w+) \{", line):
            rows = found.setdefault(head[1], set())
        elif row := _MEMBER.search(line):
            name = row["call"] or row["name"]
            rows.add((name, int(row["offset"]) * 8 + int(row["bit"] or 0)))
    return found


def our_rows(type: c.CType, offset: int = 0) -> set[Row]:
    rows: set[Row] = set()
    assert isinstance(type, c.Struct)
    for member in type.members():
        place = offset + member.bit_offset
        if member.name:
            rows.add((member.name, place))
        inner = c.strip(member.type)
        while isinstance(inner, c.Array):
            inner = c.strip(inner.element)
        anonymous = not isinstance(member.type, c.Typedef)
        if isinstance(inner, c.Struct) and not inner.name and anonymous:
            rows |= our_rows(inner, place)
    return rows


def test_pahole_sees_the_same_layouts(debuginfo: Debuginfo, tmp_path: Path) -> None:
    pahole = shutil.which("pahole")
    if pahole is None:
        pytest.skip("pahole is not installed")
    btf = debuginfo.btf
    assert btf is not None
    names = [name.removeprefix("struct ") for name in btf.type_names("s")]
    names = [name for name, count in Counter(names).items() if count == 1][::40]
    writer = ElfWriter(2)
    writer.section(".BTF", bytes(btf.raw()))
    path = tmp_path / "vmlinux"
    path.write_bytes(writer.data())
    done = subprocess.run(
        [pahole, "--format_path", "btf", "-C", ",".join(names), str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    expected = pahole_rows(done.stdout)
    compared = 0
    for name, rows in expected.items():
        type = btf.type(f"struct {name}")
        assert type is not None
        ours = our_rows(type)
        # Of a member whose name pahole cannot print on one line, the rest still counts.
        assert rows <= ours, name
        compared += len(rows)
    assert len(expected) >= 150
    assert compared >= 1000


def test_no_function_is_missing_in_the_list_of_all(debuginfo: Debuginfo) -> None:
    """BTF describes functions in assembler as well; what it leaves out is nothing to be probed."""
    symbols = debuginfo.loaded.symbols
    if not isinstance(symbols, PackedSymbols):
        pytest.skip("the kernel's own table was not found")
    listed = {site.name for site in debuginfo.functions("*")}
    assert {"clear_page_erms", "copy_page", "__sw_hweight64"} <= listed
    first, last = symbols.tables.address("_text"), symbols.tables.address("_etext")
    others: dict[int, set[str]] = {}
    for name, kind, address in symbols.tables.symbols():
        if is_function([kind]) and first <= address < last:
            others.setdefault(address, set()).add(name)
    rest = {name for names in others.values() if not names & listed for name in names}
    rest = {n for n in rest if "." not in n and not n.startswith("__pfx_")}
    rest = {n for n in rest if not section_of(symbols.kinds(n)) and not reason(n, False)}
    marks = re.compile(r"_s?text|__\w+_(start|end)")
    assert {name for name in rest if not marks.fullmatch(name)} == set()
