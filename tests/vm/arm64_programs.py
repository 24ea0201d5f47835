"""Programs for guests of arm64, made by the cross compiler: without a C library, as it has none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from stapy.arch import ARM64, host
from stapy.paths import data_dir
from stapy.vm.machine import Machine

_CALL = """\
static long call(long number, long a, long b, long c)
{
	register long x8 asm("x8") = number;
	register long x0 asm("x0") = a;
	register long x1 asm("x1") = b;
	register long x2 asm("x2") = c;

	asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
}
#define APART __attribute__((noinline, noclone))
"""
FUNCTIONS = f"""\
{_CALL}
struct pair {{ int a; long b; }};
struct large {{ long a, b, c; }};
struct point {{ double x, y, z; }};
static int counter = 5;
static char thread[64] __attribute__((aligned(16)));
static volatile __thread long own;

APART long add(int a, unsigned long b, const char *text, struct pair p)
{{
	long local = a + b + p.a + p.b;

	call(64, 1, (long)text, 6);
	counter += a;
	return -local;
}}
APART int mixed(struct large b, double d, int last, struct point at, signed char c)
{{
	return (int)b.c - last + (int)d + c + (int)at.y;
}}
APART struct large whole(long a) {{ return (struct large){{ a, a + 1, a + 2 }}; }}
APART double real(int a) {{ return a * 0.5; }}
APART long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, short j)
{{
	return i * 10 + j + a + b + c + d + e + f + g + h;
}}
APART int factorial(int n) {{ return n < 2 ? 1 : n * factorial(n - 1); }}
int run(int argc)
{{
	struct pair p = {{ 3, 4 }};
	struct large b = {{ 1, 22, 333 }};
	long r = add(argc, 2, "hello\\n", p);

	r += mixed(b, 1.5, 7, (struct point){{ 1, 2, 3 }}, 'x') + whole(5).c + (long)real(8);
	own = 41;
	r += many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + factorial(5);
	return counter == 6 && r == 706 ? 0 : 1;
}}
void _start(void)
{{
	asm volatile("msr tpidr_el0, %0" : : "r"(thread)); /* as a C library does */
	call(93, run(1), 0, 0);
}}
"""
MARKS = f"""\
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
{_CALL}
#define COUNTER(name) unsigned short name##_semaphore __attribute__((section(".probes")))
COUNTER(marked_plain);
COUNTER(marked_operands);
COUNTER(marked_counted);
struct row {{ int small; long large; }};

APART long told(int n, const char *text, struct row *rows, unsigned char byte)
{{
	volatile int local = n * 3;

	DTRACE_PROBE2(marked, plain, n, text);
	DTRACE_PROBE5(marked, operands, local, -7, rows[n].large, rows[n].small, byte);
	if (*(volatile unsigned short *)&marked_counted_semaphore)
		DTRACE_PROBE1(marked, counted, (long)marked_counted_semaphore);
	return local;
}}
void _start(void)
{{
	struct row rows[3] = {{ {{ 1, 2 }}, {{ -3, 1L << 40 }}, {{ 5, 6 }} }};

	call(93, told(1, "one", rows, 200) == 3 ? 0 : 1, 0, 0);
}}
"""
# A function without a frame, one whose frame has no fixed size, a handler of signals, and what is
# interrupted; frame pointers are left out where the compiler can.
STACKS = f"""\
{_CALL}
struct action {{ void (*handler)(int); unsigned long flags; void *restorer; unsigned long mask; }};
static volatile int sum;

APART int leaf(int n) {{ sum += n; return sum; }}
APART int wide(int n)
{{
	volatile char room[n * 16];

	room[0] = n;
	return leaf(n) + room[0];
}}
APART int middle(int n) {{ return n ? middle(n - 1) + 1 : wide(3) + 1; }}
APART void on_signal(int n) {{ sum += leaf(n) * 2; }}
APART int interrupted(int n)
{{
	struct action action = {{ .handler = on_signal }};
	register long x8 asm("x8") = 134; /* rt_sigaction */
	register long x0 asm("x0") = 10;
	register long x1 asm("x1") = (long)&action;
	register long x2 asm("x2") = 0;
	register long x3 asm("x3") = sizeof(action.mask);

	asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	call(129, call(172, 0, 0, 0), 10, 0);
	return sum + n;
}}
APART int run(int n) {{ return middle(n) + interrupted(n) + 1; }}
void _start(void)
{{
	call(93, run(2) > 0 ? 0 : 1, 0, 0);
}}
"""
# Calls of one function out of several: straight, at two places, below a frame of no fixed size, at
# the end of a recursion.
CALLERS = f"""\
{_CALL}
#define OPAQUE __attribute__((noipa))
static volatile int sum;

OPAQUE int leaf(int n) {{ return n + 1; }}
OPAQUE int middle(int n) {{ int r = leaf(n) * 3; return r + sum; }}
OPAQUE int other(int n) {{ return leaf(n) + leaf(n + 1); }}
OPAQUE int wide(int n)
{{
	volatile char room[n * 16];

	room[0] = n;
	return middle(n) + room[0];
}}
OPAQUE int through(int n);
OPAQUE int deep(int n)
{{
	int r = n > 1 ? through(n - 1) + 1 : leaf(100);
	return r * 2;
}}
OPAQUE int through(int n) {{ return deep(n) + 1; }}
OPAQUE int run(int n)
{{
	sum += middle(n);
	sum += other(n + 1);
	sum += wide(n + 3);
	sum += deep(n + 1);
	return sum;
}}
void _start(void)
{{
	call(93, run(1) > 0 ? 0 : 1, 0, 0);
}}
"""
# A frame of more than 32 KiB, a return probe that is jumped over, a restorer of its own.
UNUSUAL = f"""\
{_CALL}
struct action {{ void (*handler)(int); unsigned long flags; void *restorer; unsigned long mask; }};
static volatile int sum;
static void *place[5];
extern char restorer[];
asm(".text\\n.globl restorer\\n.balign 64\\nnop\\nnop\\n"
    "restorer: mov x8, #139\\nsvc #0\\n.balign 64\\nnop\\nnop\\n");

APART int leaf(int n) {{ sum += n; return sum; }}
APART int large(int n)
{{
	volatile char room[40000];

	room[n] = 1;
	return leaf(room[n]) + room[n + 1];
}}
APART int calls_large(int n) {{ return large(n) + 1; }}
APART int thrower(int n)
{{
	sum += n;
	if (n)
		__builtin_longjmp(place, 1);
	return leaf(n) + sum;
}}
APART int hooked_caller(int n) {{ sum++; return thrower(n) + 1; }}
APART int innocent(int n) {{ sum += leaf(n); return sum; }}
APART int true_caller(int n) {{ sum++; return innocent(n) + 1; }}
APART int jumps(int n)
{{
	if (!__builtin_setjmp(place))
		return hooked_caller(n);
	return true_caller(n) + 1;
}}
APART void on_signal(int n) {{ sum += leaf(n) * 2; }}
APART void asks(long pid) {{ call(129, pid, 10, 0); sum++; }}
APART int interrupted(int n)
{{
	struct action action = {{ .handler = on_signal, .flags = 0x04000000, .restorer = restorer }};
	register long x8 asm("x8") = 134; /* rt_sigaction */
	register long x0 asm("x0") = 10;
	register long x1 asm("x1") = (long)&action;
	register long x2 asm("x2") = 0;
	register long x3 asm("x3") = sizeof(action.mask);

	asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	asks(call(172, 0, 0, 0));
	return sum + n;
}}
APART int run(int n) {{ return calls_large(n) + jumps(n) + interrupted(n) + 1; }}
void _start(void)
{{
	call(93, run(2) > 0 ? 0 : 1, 0, 0);
}}
"""
# Frame pointers alone, which tell the way in code without descriptions.
POINTERS = f"""\
{_CALL}
static volatile int sum;

APART int leaf(int n) {{ sum += n; return sum; }}
APART int inner(int n) {{ sum += leaf(n); return sum; }}
APART int hooked(int n) {{ sum++; return inner(n) + 1; }}
APART int outer(int n) {{ sum++; return hooked(n) + 1; }}
void _start(void)
{{
	call(93, outer(2) > 0 ? 0 : 1, 0, 0);
}}
"""
SOURCES = {
    "functions": FUNCTIONS,
    "bare": FUNCTIONS,
    "marks": MARKS,
    "stacks": STACKS,
    "callers": CALLERS,
    "signed": CALLERS,
    "unusual": UNUSUAL,
    "pointers": POINTERS,
}
_POINTERLESS = ("-g", "-fomit-frame-pointer")
# What each is compiled with, -g where nothing stands here.
_OPTIONS = {
    "bare": ("-g0",),
    "stacks": _POINTERLESS,
    "callers": _POINTERLESS,
    "signed": ("-g", "-mbranch-protection=standard"),
    "pointers": (
        "-g",
        "-fno-omit-frame-pointer",
        "-fno-asynchronous-unwind-tables",
        "-fno-unwind-tables",
    ),
}


def compiler() -> str:
    """Name the compiler that makes programs for arm64 here, "" for none."""
    name = "gcc" if host() is ARM64 else f"{ARM64.cross}gcc-12"
    return shutil.which(name) or ""


def made(folder: Path) -> dict[str, Path]:
    """Compile all of them."""
    found = {}
    for name, text in SOURCES.items():
        source, program = folder / f"{name}.c", folder / name
        source.write_text(text)
        words = [
            *(
                *_OPTIONS.get(name, ("-g",)),
                "-O1",
                "-nostdlib",
                "-static",
                "-fno-builtin",
                "-fno-stack-protector",
            ),
            *(f"-I{data_dir('include')}", str(source), "-o", str(program)),
        ]
        subprocess.run([compiler(), *words], check=True)
        found[name] = program
    return found


def install(guest: Machine, programs: dict[str, Path]) -> None:
    """Put them where they are here: a guest of another architecture has files of its own."""
    for path in programs.values():
        words = f"mkdir -p {path.parent} && cp {guest.push(path)} {path} && chmod 755 {path}"
        result = guest.run(["sh", "-c", words])
        assert result.status == 0, result.stderr
