"""Forms of points and values in user programs that the other files of this folder do not show.

Constants, texts of all variables, structures that are returned in memory, ranges of lines, what is
exported, types of headers; C++ and Rust as compilers make it of real sources.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.paths import data_dir
from stapy.vm.machine import Machine
from tests.debuginfo.dwarf.samples import extracted
from tests.debuginfo.user.sources import built, compiled
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

PROGRAM = r"""
#include <arpa/inet.h>
#include <netinet/in.h>
enum mode { OFF = 3, ON = 9 };
union number { int i; float f; };
struct item { char name[12]; enum mode mode; union number n; struct item *next; int rows[3]; };
static struct item pool[2] = {
	{ "first", ON, { 7 }, &pool[1], { 1, 2, 3 } },
	{ "second", OFF, { 8 }, 0, { 4, 5, 6 } },
};
static __attribute__((noipa)) int visit(struct item *it, int depth)
{
	enum { LIMIT = 77 };
	int total = 0;
	for (int i = 0; i < 3; i++) {
		total += it->rows[i]; /* ADD */
	}
	return total + depth + LIMIT; /* SUM */
}
static __attribute__((noipa)) int bound(const struct sockaddr *address)
{
	return address->sa_family;
}
__attribute__((noipa)) struct item copy_of(struct item *it)
{
	struct item copy = *it;
	copy.rows[0] += 100;
	return copy;
}
int main(void)
{
	struct sockaddr_in address = { AF_INET, htons(8080), { htonl(0x7f000001) } };

	int sum = visit(pool, 5);

	sum += bound((struct sockaddr *)&address);
	sum += copy_of(pool).rows[0];
	return sum == 0;
}
"""
LINES = {
    name: next(at for at, line in enumerate(PROGRAM.splitlines(), 1) if f"/* {name} */" in line)
    for name in ("ADD", "SUM")
}
SCRIPT = """
global at, all
probe process("{path}").function("visit") {{
	printf("%d %d %d %s\\n", $ON, $LIMIT, $it->mode == $ON, @enumname($it->mode, "enum mode"))
	printf("%s, %d\\n", $$parms$, $$parms == sprintf("it=%p depth=0x5", $it))
	printf("%s\\n", $it$$)
	println(isinstr($$vars, $$parms) && isinstr($$vars, "total="), " ", isinstr($$locals, "depth"))
}}
probe process("{path}").function("visit").return {{
	printf("%s, %d, %s\\n", $$return, $OFF, @entry($it$))
}}
probe process("{path}").function("copy_of").return {{
	printf("%s\\n%s %d\\n", $$return$, user_string($return->name), $return->rows[0])
}}
probe process("{path}").function("bound") {{
	printf("%d %s\\n",
		ntohs(@cast($address, "struct sockaddr_in", "<netinet/in.h>")->sin_port),
		ip_ntop(@cast($address, "struct sockaddr_in", "<netinet/in.h>")->sin_addr->s_addr))
}}
probe process("{path}").function("c*@program.c").exported {{ println("exported ", ppfunc()) }}
probe process("{path}").statement("visit@program.c:{ADD}-{SUM}") {{ at[pp()]++ }}
probe process("{path}").statement("visit@program.c:{ADD},{SUM}") {{ at[pp()] += 10 }}
probe process("{path}").statement("visit@program.c+5") {{ at[pp()] += 100 }}
probe process("{path}").statement("visit@program.c:*") {{ all[pp()]++ }}
probe end {{
	foreach (point+ in at) printf("%s %d\\n", substr(point, strlen(point) - 4, 2), at[point])
	foreach (point in all) count++
	printf("lines %d\\n", count > 4)
}}
"""
EXPECTED = [
    "9 77 1 ON",
    'it={.name="first", .mode=9, .n={...}, .next=ADDRESS, .rows=[1, 2, 3]} depth=5, 1',
    '{.name="first", .mode=9, .n={.i=7, .f=7}, .next=ADDRESS, .rows=[1, 2, 3]}',
    "1 0",
    'return=0x58, 3, {.name="first", .mode=9, .n={...}, .next=ADDRESS, .rows=[1, 2, 3]}',
    "8080 127.0.0.1",
    "exported copy_of",
    'return={.name="first", .mode=9, .n={...}, .next=ADDRESS, .rows=[101, 2, 3]}',
    "first 101",
]


def test_forms_of_points_and_values(guest: Machine, release: str, tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-g", "-O0", "-fPIE", "-pie", "-rdynamic")
    modules = make(release, tmp_path, forms=SCRIPT.format(path=path, **LINES))
    lines, result = shell(guest, modules, f"$run -c {path} $forms; echo status $?")
    lines = [re.sub(r"\.next=0x[0-9a-f]{12}", ".next=ADDRESS", line) for line in lines]
    hits = [f"{LINES['ADD']} 333", f"{LINES['SUM']} 11", "lines 1"]
    assert lines == [*EXPECTED, *hits, "status 0"], result.stderr.decode()


CLASSES = r"""
#include <stdexcept>
#include <string>
#include <vector>
namespace shop {
enum class Colour { Red = 4, Green = 8 };
struct Base { int id = 3; virtual ~Base() {} };
struct Box : Base {
	enum Kind { FLAT = 11, TALL = 12 };
	Colour colour = Colour::Green;
	std::string label = "a label";
	std::vector<int> prices{10, 20, 30};
	__attribute__((noipa)) int look(Kind kind, const std::string &name, Base &other)
	{
		if (kind == FLAT)
			throw std::runtime_error("flat");
		return kind + name.size() + other.id;
	}
	__attribute__((noipa)) static int count(int n) { return n * 2; }
	__attribute__((noipa)) Box *operator+(int n) { id += n; return this; }
};
template <typename T> __attribute__((noipa)) T twice(T t) { return t + t; }
}
int main()
{
	shop::Box box;
	int caught = 0;

	box.look(shop::Box::TALL, "hello", box);
	for (int i = 0; i < 3; i++) {
		try { box.look(shop::Box::FLAT, "x", box); } catch (std::exception &) { caught++; }
	}
	box + 4;
	return shop::twice(5) + shop::twice(2.5) + shop::Box::count(4) == caught;
}
"""
CLASSES_SCRIPT = """
global stacks, types
probe process("{path}").function("shop::Box::look") {{
	if ($kind == $FLAT) next
	printf("%s %d %d %d\\n", @enumname($kind, "shop::Box::Kind"), $TALL,
		$this->colour == $Green, $Red)
	printf("%d %d %s %s %d\\n", $this->id, $other->id,
		user_string($name->_M_dataplus->_M_p), user_string($this->label->_M_dataplus->_M_p),
		user_int($this->prices->_M_impl->_M_start + 4))
}}
probe process("{path}").function("operator+") {{ printf("plus %d\\n", $n) }}
probe process("{path}").function("*operator+").return {{
	printf("plus %d after %d\\n", $return->id, @entry($this->id))
}}
probe process("{path}").function("twice<double>").return {{ println(fp_to_string($return, 1)) }}
probe process("{path}").function("shop::Box::count") {{ println("count ", $n) }}
probe process("libstdc++.so.6").mark("throw") {{
	stacks[sprint_ubacktrace()]++
	types[user_string(user_long($arg2 + 8), "?")]++
}}
probe process("{path}").library("libstdc++*").function("__cxa_throw") {{
	if (!told++) println("thrown by ", usymname(ustack(1)))
}}
global told
probe end {{
	foreach (name in types) printf("%s %d\\n", name, types[name])
	foreach (stack in stacks)
		printf("%d %d\\n", stacks[stack], stack =~ "__cxa_throw.*Box4look.*main\\+.*_start")
}}
"""
CLASSES_EXPECTED = [
    "TALL 12 1 4",
    "3 3 hello a label 20",
    "thrown by _ZN4shop3Box4look",
    "plus 4",
    "plus 7 after 3",
    "5.0",
    "count 4",
    "St13runtime_error 3",
    "3 1",
    "status 0",
]


def test_classes_and_what_is_thrown(guest: Machine, release: str, tmp_path: Path) -> None:
    """References, members of the standard library, constants of a class; exceptions by stack."""
    (tmp_path / "classes.cc").write_text(CLASSES)
    path = tmp_path / "classes"
    built(path, "-x", "c++", "-g", "-O1", str(tmp_path / "classes.cc"), "-x", "none", "-lstdc++")
    words = ("-DMAXSTRINGLEN=1024", "-e", CLASSES_SCRIPT.format(path=path))
    modules = make(release, tmp_path, classes=words)
    lines, result = shell(guest, modules, f"$run -c {path} $classes; echo status $?")
    lines = [re.sub(r"4lookENS0_.*", "4look", line) for line in lines]
    assert lines == CLASSES_EXPECTED, result.stderr.decode()


RUST_SCRIPT = """
probe process("{path}").function("shapes::Point::area") {{
	printf("%d x %d times %d\\n", $self->x, $self->y, $factor)
}}
probe process("{path}").function("lib::shapes::Point::area").return {{ println("area ", $return) }}
probe process("{path}").function("*::twice") {{ println(ppfunc(), " ", $self->x) }}
probe process("{path}").function("shapes::inner::of") {{
	printf("%s %d %d\\n", $kind->__variant == 1 ? "Full" : "Empty", $kind->Full->__0,
		@var("lib::SINK"))
}}
"""


def test_rust(guest: Machine, release: str, tmp_path: Path) -> None:
    """Methods, references, enumerations with data, statics, what is inlined.

    The program was made without an end, and crashes.
    """
    extracted("rust", tmp_path)
    path = tmp_path / "rust"
    modules = make(release, tmp_path, rust=RUST_SCRIPT.format(path=path))
    lines, result = shell(guest, modules, f"$run -c {path} $rust; echo status $?")
    assert lines == [
        "3 x 4 times 2",
        "area 24",
        "lib::shapes::Point::twice 3",
        "Full 7 7",
        "status 1",
    ], result.stderr.decode()


OWN_CONVENTION = """
probe process("{path}").function("till::Till::sell") {{
	printf("%d at %d, %d %d\\n", $price, $rate, $self->total, $self->count)
}}
probe process("{path}").function("till::Till::give").return {{
	printf("%d coins, %d, %d\\n", @entry($coins), @entry($last), $return)
}}
"""


def test_methods_that_llvm_calls_in_its_own_way(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """The rate is not passed, and the price is in its register."""
    extracted("rust-till", tmp_path)
    path = tmp_path / "till"
    modules = make(release, tmp_path, till=OWN_CONVENTION.format(path=path))
    lines, result = shell(guest, modules, f"$run -c {path} $till; echo status $?")
    assert lines == [
        "30 at 7, 100 4",
        "40 at 7, 310 5",
        "310 coins, 590, 165200",
        "status 0",
    ], result.stderr.decode()


CONDITIONS = r"""
#define _SDT_HAS_SEMAPHORES
#include <sys/sdt.h>
#include <stdio.h>
#include <unistd.h>
volatile unsigned short ours_turn_semaphore __attribute__((section(".probes")));
volatile unsigned short ours_last_semaphore __attribute__((section(".probes")));
__attribute__((noipa)) int work(int n) { return n + 1; }
__attribute__((noipa)) void phase(int armed, int number)
{
	asm volatile("" :: "r"(armed), "r"(number) : "memory");
}
int main(void)
{
	for (int number = 0; number < 5; number++) {
		int armed = number & 1;

		phase(armed, number);
		for (int tries = 0; tries < 6000 && ours_turn_semaphore != armed; tries++)
			usleep(10000);
		usleep(300000); /* what else is armed or disarmed by then, in the same round */
		for (int n = 0; n < 4; n++) {
			work(n); /* LINE */
			STAP_PROBE1(ours, turn, n);
		}
		STAP_PROBE1(ours, last, number);
	}
	return 0;
}
"""
CONDITIONS_SCRIPT = """
global on, marks, entries, returns, kept, lines
probe process("{path}").function("phase") {{ on = int_arg(1) }}
probe process("{path}").mark("turn") if (on) {{ marks += $arg1 }}
probe process("{path}").function("work") if (on) {{ entries += int_arg(1) }}
probe process("{path}").function("work").return if (on) {{ returns += returnval() }}
probe process("{path}").function("work").return if (on) {{ kept += @entry(int_arg(1)) }}
probe process("{path}").statement("main@*:{line}") if (on) {{ lines++ }}
probe process("{path}").mark("last") {{
	printf("%d: %d %d %d %d %d\\n", $arg1, marks, entries, returns, kept, lines)
	marks = entries = returns = kept = lines = 0
}}
"""


def test_conditions_arm_and_disarm(guest: Machine, release: str, tmp_path: Path) -> None:
    """Marks, entries, returns, statements; the program sees by the mark's counter that it is."""
    include = f"-I{data_dir('include')}"
    path = compiled(tmp_path, CONDITIONS, include, "-g", "-O1", name="turns")
    line = next(at for at, row in enumerate(CONDITIONS.splitlines(), 1) if "/* LINE */" in row)
    modules = make(release, tmp_path, conditions=CONDITIONS_SCRIPT.format(path=path, line=line))
    lines, result = shell(guest, modules, f"$run -c {path} $conditions; echo status $?")
    assert lines == [
        f"{number}: {'6 6 10 6 4' if number & 1 else '0 0 0 0 0'}" for number in range(5)
    ] + ["status 0"], result.stderr.decode()
