"""The C of floatingpoint.stp, compiled for this process, against the processor's own arithmetic."""

from __future__ import annotations

import ctypes
import math
import random
import struct
import subprocess
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path

import pytest

from stapy.paths import data_dir

pytestmark = pytest.mark.build

SHIMS = """
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef uint64_t u64; typedef int64_t s64; typedef uint32_t u32;
#define __maybe_unused __attribute__((unused))
#define swap(a, b) do { __typeof__(a) _t = (a); (a) = (b); (b) = _t; } while (0)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define clamp(v, l, h) min(max(v, l), h)
#define clamp_t(t, v, l, h) clamp((t)(v), (t)(l), (t)(h))
#define div64_u64(a, b) ((u64)(a) / (b))
#define U64_MAX UINT64_MAX
#define S64_MAX INT64_MAX
#define S64_MIN INT64_MIN
"""
CALLS = """
#define P stapy_fp_pack
#define U stapy_fp_unpack
u64 add(u64 a, u64 b) { return P(stapy_fp_add(U(a), U(b))); }
u64 mul(u64 a, u64 b) { return P(stapy_fp_mul(U(a), U(b))); }
u64 div_(u64 a, u64 b) { return P(stapy_fp_div(U(a), U(b))); }
u64 rem(u64 a, u64 b) { return P(stapy_fp_rem(U(a), U(b))); }
u64 root(u64 a) { return P(stapy_fp_sqrt(U(a))); }
u64 of_long(s64 a) { return P(stapy_fp_of_long(a)); }
s64 to_long(u64 a, s64 mode) { return stapy_fp_to_long(U(a), mode); }
int compare(u64 a, u64 b) { return stapy_fp_compare(U(a), U(b)); }
void text(u64 a, s64 precision, char *to, int size) { stapy_fp_text(U(a), precision, to, size); }
u64 parse(const char *from) { return P(stapy_fp_parse(from)); }
"""
EDGES = [0.0, 1.0, 1.5, 2.0, 0.1, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**53,
         2.0**63, 2.0**64, 0.5, 3.0, 1e22, 1e-22, math.inf, math.nan]  # fmt: skip


def bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def number(value: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", value))[0])


@pytest.fixture(scope="module")
def fp(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    source = (Path(data_dir("tapsets")) / "core/floatingpoint.stp").read_text()
    code = source.split("%{", 1)[1].split("%}", 1)[0]
    folder = tmp_path_factory.mktemp("fp")
    (folder / "fp.c").write_text(SHIMS + code + CALLS)
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover",
         "-static-libubsan", "-shared", "-fPIC", "-o", folder / "fp.so", folder / "fp.c"],
        check=True,
    )  # fmt: skip
    made = ctypes.CDLL(str(folder / "fp.so"))
    for name in ("add", "mul", "div_", "rem", "root", "of_long", "parse"):
        getattr(made, name).restype = ctypes.c_uint64
    for name in ("add", "mul", "div_", "rem", "compare"):
        getattr(made, name).argtypes = [ctypes.c_uint64] * 2
    made.root.argtypes = [ctypes.c_uint64]
    made.of_long.argtypes = [ctypes.c_int64]
    made.to_long.argtypes = [ctypes.c_uint64, ctypes.c_int64]
    made.to_long.restype = ctypes.c_int64
    made.text.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int]
    made.parse.argtypes = [ctypes.c_char_p]
    return made


def values() -> list[float]:
    chance = random.Random(7)
    made = [number(chance.getrandbits(64)) for _ in range(400)]
    made += [chance.uniform(-1e6, 1e6) for _ in range(200)]
    made += [chance.randrange(-1000, 1000) / 8 for _ in range(200)]
    made += [number(chance.getrandbits(52)) for _ in range(40)]  # without a leading one
    return made + EDGES + [-value for value in EDGES]


def pairs() -> list[tuple[float, float]]:
    chance = random.Random(8)
    some = values()
    near = [(a, number(bits(a) ^ chance.getrandbits(3))) for a in some[:300]]
    return [(chance.choice(some), chance.choice(some)) for _ in range(2500)] + near + [
        (a, b) for a in EDGES for b in EDGES
    ]  # fmt: skip


def same(found: int, wanted: float) -> bool:
    return bool(math.isnan(number(found)) if math.isnan(wanted) else found == bits(wanted))


def quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def remainder(a: float, b: float) -> float:
    return math.nan if math.isinf(a) or not b else math.remainder(a, b)


def test_arithmetic(fp: ctypes.CDLL) -> None:
    for a, b in pairs():
        assert same(fp.add(bits(a), bits(b)), a + b), (a, b)
        assert same(fp.mul(bits(a), bits(b)), a * b), (a, b)
        assert same(fp.div_(bits(a), bits(b)), quotient(a, b)), (a, b)
        assert same(fp.rem(bits(a), bits(b)), remainder(a, b)), (a, b)
        wanted = 2 if math.isnan(a) or math.isnan(b) else (a > b) - (a < b)
        assert fp.compare(bits(a), bits(b)) == wanted, (a, b)


def test_roots(fp: ctypes.CDLL) -> None:
    for a in values():
        assert same(fp.root(bits(a)), math.sqrt(a) if a >= 0 else math.nan), a


def test_integers(fp: ctypes.CDLL) -> None:
    chance = random.Random(9)
    for _ in range(3000):
        whole = chance.getrandbits(chance.randrange(1, 64)) * chance.choice((1, -1))
        assert fp.of_long(whole) == bits(float(whole))
    for a in values():
        if math.isnan(a):
            assert fp.to_long(bits(a), 0) == 0
            continue
        for mode, rule in enumerate((round, math.trunc, math.floor, math.ceil)):
            whole = rule(a) if abs(a) < 2**63 else 2**64 if a > 0 else -(2**64)
            assert fp.to_long(bits(a), mode) == max(-(2**63), min(2**63 - 1, whole)), (a, mode)
    for a, away, odd in ((2.5, 3, 3), (-2.5, -3, -3), (3.4, 3, 3), (4.2, 4, 5), (-4.9, -5, -5)):
        assert (fp.to_long(bits(a), 4), fp.to_long(bits(a), 6)) == (away, odd)


def test_text(fp: ctypes.CDLL) -> None:
    room = ctypes.create_string_buffer(512)
    for a in values():
        for precision in (0, 1, 3, 17):
            fp.text(bits(a), precision, room, 512)
            if not math.isfinite(a):
                wanted = "NaN" if math.isnan(a) else f"{a}".replace("inf", "Infinity")
                assert room.value.decode() == wanted
                continue
            with localcontext() as context:
                context.prec = 2000
                step = Decimal(1).scaleb(-precision)
                wanted = f"{Decimal(a).quantize(step, rounding=ROUND_HALF_UP):f}"
            assert room.value.decode() == wanted, (a, precision)
    small = ctypes.create_string_buffer(b"x" * 32, 32)
    fp.text(bits(9.9999), 2, small, 16)
    assert small.raw[:6] == b"10.00\0" and small.raw[16:] == b"x" * 16


def test_parsing(fp: ctypes.CDLL) -> None:
    for text in ("0", "-0", "1", "+1", "3.14159", "-2.5e3", "1e22", "1e-22", ".5", "5.", "0.1",
                 "1E5", "123456789012345678", "1e400", "1e-400", "00012.5e+01"):  # fmt: skip
        assert fp.parse(text.encode()) == bits(float(text)), text
    for text in ("", "-", ".", "1e", "e5", "1x", "1.2.3", " 1", "--1", "1e+"):
        assert math.isnan(number(fp.parse(text.encode()))), text
    for a in values():
        if math.isfinite(a) and 1e-290 < abs(a) < 1e290:
            found = number(fp.parse(repr(a).encode()))
            assert abs(bits(found) - bits(a)) <= 1, a
