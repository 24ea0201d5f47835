"""Places in the code of a user program that only its debug information tells, and what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import built, compiled
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

PROGRAM = r"""
struct node { int value; struct node *next; };
static int counter;
static inline __attribute__((always_inline)) int twice(int n)
{
	int m = n * 2;
	counter += m;
	return m;
}
__attribute__((noipa)) int leaf(int n)
{
	return n + 1;
}
__attribute__((noipa)) int middle(int n)
{
	int r = leaf(n) * 3;
	return r + counter; /* BEHIND */
}
__attribute__((noipa)) int other(int n)
{
	return leaf(n) + leaf(n + 1);
}
static __attribute__((noipa)) int walk(struct node *list, int limit)
{
	int total = 0;
	struct node *at;

	for (at = list; at; at = at->next) {
		if (at->value > limit)
			goto found;
		total += twice(at->value); /* SUM */
	}
	return total;
found:
	return -total; /* FOUND */
}
int through(int n);
__attribute__((noipa)) int deep(int n)
{
	int r = n > 1 ? through(n - 1) + 1 : leaf(100);
	return r * 2;
}
__attribute__((noipa)) int through(int n)
{
	return deep(n) + 1;
}
int main(int argc, char **argv)
{
	struct node last = { 7, 0 }, first = { 3, &last };
	int sum = walk(&first, 5) + walk(&first, 50);

	sum += middle(argc);
	sum += other(sum);
	sum += deep(2);
	return sum == 12345;
}
"""
LINES = {
    name: next(at for at, line in enumerate(PROGRAM.splitlines(), 1) if f"/* {name} */" in line)
    for name in ("BEHIND", "SUM", "FOUND")
}
INSIDE = """
probe process("{path}").statement("walk@program.c:{SUM}") {{
	printf("sum %d + 2 * %d, limit %d\\n", $total, $at->value, $limit)
}}
probe process("{path}").function("walk").label("found") {{ printf("found %d\\n", $total) }}
probe process("{path}").statement("middle@program.c:{BEHIND}") {{
	printf("behind %d\\n", @var("counter"))
}}
"""
INSIDE_EXPECTED = [
    "sum 0 + 2 * 3, limit 5",
    "found 6",
    "sum 0 + 2 * 3, limit 50",
    "sum 6 + 2 * 7, limit 50",
    "behind 26",
]
CALLEES = """
probe process("{path}").function("middle").callee("leaf") {{ printf("middle leaf %d\\n", $n) }}
probe process("{path}").function("main").callees(2) {{
	if (pp() =~ "leaf@") printf("leaf below %s\\n", pp() =~ "other@" ? "other" : "middle")
}}
probe process("{path}").function("deep").callee("leaf").return {{
	printf("deep leaf returns %d\\n", $return)
}}
probe process("{path}").function("middle").callee("leaf").return {{
	printf("middle leaf returns %d of %d\\n", $return, @entry($n))
}}
"""
CALLEES_EXPECTED = [
    "middle leaf 1",
    "leaf below middle",
    "middle leaf returns 2 of 1",
    "leaf below other",
    "leaf below other",
    "deep leaf returns 101",
]
INLINE = """
probe process("{path}").function("twice").inline {{ printf("twice %d\\n", $n) }}
probe process("{path}").function("twice") {{ printf("%s %d\\n", ppfunc(), $n) }}
"""
INLINE_EXPECTED = ["twice 3", "twice 3", "twice 3", "twice 3", "twice 7", "twice 7"]


@pytest.mark.parametrize(
    "options",
    [["-O2", "-fPIE", "-pie"], ["-O2", "-no-pie"], ["-O2", "-static-pie"], ["-O0"]],
    ids=["optimised", "fixed", "static", "plain"],
)
def test_places_inside_of_functions(
    guest: Machine, release: str, tmp_path: Path, options: list[str]
) -> None:
    path = compiled(tmp_path, PROGRAM, "-g", *options)
    scripts, expected = {"inside": INSIDE}, [*INSIDE_EXPECTED]
    if "-O0" not in options:  # the compiler tells of calls when it optimises
        scripts |= {"callees": CALLEES, "inlined": INLINE}
        expected += CALLEES_EXPECTED + INLINE_EXPECTED
    texts = {name: text.format(path=path, **LINES) for name, text in scripts.items()}
    modules = make(release, tmp_path, **texts)
    command = "; ".join(f"$run -c {path} ${name}" for name in scripts)
    lines, result = shell(guest, modules, f"{command}; echo status $?")
    assert lines == [*expected, "status 0"], result.stderr.decode()


LIBRARY = r"""
__thread int own = 7;
static __thread long hidden = 70;
int touch(int n)
{
	own += n;
	hidden += own;
	return own;
}
"""
VALUES = r"""
#include <stdio.h>
#include <pthread.h>
#include <string.h>
struct point { float x, y; double z; };
struct mixed { long n; double d; };
struct node { int value; struct node *next; };
static __thread int here = 5;
int touch(int n);
__attribute__((noipa)) double half(double d, float f, int n, struct point p, struct mixed m)
{
	here += n;
	return d / n + f + p.x + p.y + p.z + m.n + m.d;
}
__attribute__((noipa)) struct mixed back(double d, long n)
{
	return (struct mixed){ n, d };
}
__attribute__((noipa)) int sum(struct node *list, int limit)
{
	int total = 0;
	for (; list && limit--; list = list->next)
		total += list->value; /* ADD */
	return total;
}
static void *thread(void *unused)
{
	here = 100;
	touch(1000);
	half(1.5, 0.25f, 2, (struct point){ 1, 2, 4 }, (struct mixed){ 3, 0.5 });
	return NULL;
}
int main(int argc, char **argv)
{
	struct node last = { 7, 0 }, first = { 3, &last };
	pthread_t other;

	touch(1);
	half(-2.5, 0.5f, 2, (struct point){ 1, 2, 4 }, (struct mixed){ 3, 0.5 });
	pthread_create(&other, NULL, thread, NULL);
	pthread_join(other, NULL);
	back(0.75, 9);
	puts(argc > 1 ? argv[1] : "nothing");
	printf("%d\n", sum(&first, 2));
	fflush(stdout);
	return strlen(argv[0]) == 0;
}
"""
VALUES_SCRIPT = """
probe process("{path}").function("half") {{
	printf("%s %s %d, %d %s, here %d\\n", fp_to_string($d, 2),
		fp_to_string(fp32_to_fp64($f), 2), $n, $m->n, fp_to_string($m->d, 1), $here)
	printf("%s %s\\n", fp_to_string(fp32_to_fp64($p->y), 1), fp_to_string($p->z, 1))
}}
probe process("{path}").function("half").return {{
	printf("%s, here %d\\n", fp_to_string($return, 2), @var("here@values.c", "{path}"))
}}
probe process("{path}").function("back").return {{
	printf("%d %s\\n", $return->n, fp_to_string($return->d, 2))
}}
probe process("{path}").library("*libtouch.so").function("touch").return {{
	printf("own %d %d after %d\\n", @var("own"), @var("hidden"), @entry($n))
}}
probe process("{path}").function("sum") {{ println("theirs ", @var("own@touch.c", "{library}")) }}
probe process("{path}").plt("puts") {{ printf("%s %s\\n", $$name, user_string(pointer_arg(1))) }}
probe process("{path}").plt("p*").return {{
	if ($$name == "printf") println("printf ", returnval())
}}
"""
VALUES_EXPECTED = [
    "own 8 78 after 1",
    "-2.50 0.50 2, 3 0.5, here 5",
    "2.0 4.0",
    "9.75, here 7",
    "own 1007 1077 after 1000",
    "1.50 0.25 2, 3 0.5, here 100",
    "2.0 4.0",
    "11.50, here 102",
    "9 0.75",
    "puts nothing",
    "theirs 8",
    "printf 3",
]
WRITES = """
probe process("{path}").function("sum") {{ $limit = 1; $list->value = 40 }}
probe process("{path}").function("half") {{ $n = 1; $here = 50; @var("here") += 5 }}
probe process("{path}").function("half").return {{ println($here) }}
"""


@pytest.mark.parametrize(
    "options", [["-O2"], ["-O2", "-no-pie"], ["-O0"]], ids=lambda o: "".join(o)
)
def test_numbers_threads_stubs_and_writes(
    guest: Machine, release: str, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "touch.c").write_text(LIBRARY)
    library = ("-g", "-O2", "-shared", "-fPIC", "-Wl,-soname,libtouch.so")
    built(tmp_path / "libtouch.so", *library, str(tmp_path / "touch.c"))
    words = (*options, "-g", "-fno-builtin-printf", "-Wl,-z,lazy", str(tmp_path / "libtouch.so"))
    path = compiled(tmp_path, VALUES, *words, f"-Wl,-rpath,{tmp_path}", name="values")
    modules = make(
        release,
        tmp_path,
        values=VALUES_SCRIPT.format(path=path, library=tmp_path / "libtouch.so"),
        writes=("-g", "-e", WRITES.format(path=path)),
    )
    texts = [f"$run -c '{path}' ${name}" for name in ("values", "writes")]
    lines, result = shell(guest, modules, f"{'; '.join(texts)}; echo status $?")
    told = [line for line in lines if line not in ("nothing", "10", "40")]
    assert told == [*VALUES_EXPECTED, "56", "56", "status 0"], result.stderr.decode()
    assert sorted(set(lines) - set(told)) == ["10", "40", "nothing"]


CLASSES = r"""
#include <string>
namespace shop {
struct Base { int id; virtual ~Base() {} };
struct Ticket { int number; Ticket(int n) : number(n) {} ~Ticket() { number = 0; } };
class Cart : public Base {
public:
	int count; double total;
	Cart(int n) : count(n), total(0) { id = n * 10; }
	__attribute__((noipa)) int add(int price, std::string name, Ticket ticket, int last);
	template <class T> __attribute__((noipa)) int put(T t) { count += (int)t; return count; }
	__attribute__((noipa)) Ticket ticket(int n) const { return Ticket(n + count); }
};
int Cart::add(int price, std::string name, Ticket ticket, int last)
{
	total += price;
	count++; /* COUNT */
	return price + name.size() + ticket.number + last;
}
}
static __attribute__((noipa)) int add(int a) { return a + 1; }
int main(int argc, char **argv)
{
	shop::Cart cart(argc);
	int n = cart.add(5, "apple", shop::Ticket(44), 9) + cart.put(3L) + cart.put('a');
	return n + cart.ticket(100).number + add(n) == 0;
}
"""
CLASSES_SCRIPT = """
probe process("{path}").function("shop::Cart::add").call {{
	printf("%d %d %s %d %d\\n", $this->count, $price, user_string_n($name->_M_dataplus->_M_p, 5),
		$ticket->number, $last)
}}
probe process("{path}").statement("Cart::add@classes.c:{COUNT}") {{ println("id ", $this->id) }}
probe process("{path}").function("Cart::put<*>") {{ println(ppfunc(), " ", $t) }}
probe process("{path}").function("*::ticket").return {{ println($return->number, " ", @entry($n)) }}
"""


def test_classes(guest: Machine, release: str, tmp_path: Path) -> None:
    """Methods, templates; objects that are passed by the address of a copy."""
    (tmp_path / "classes.c").write_text(CLASSES)
    path = tmp_path / "classes"
    words = ("-x", "c++", "-g", "-O1", str(tmp_path / "classes.c"), "-x", "none", "-lstdc++")
    built(path, *words)
    count = next(at for at, line in enumerate(CLASSES.splitlines(), 1) if "/* COUNT */" in line)
    modules = make(release, tmp_path, classes=CLASSES_SCRIPT.format(path=path, COUNT=count))
    lines, result = shell(guest, modules, f"$run -c {path} $classes; echo status $?")
    expected = ["1 5 apple 44 9", "id 10", "202 100", "status 0"]
    expected[2:2] = [f"shop::Cart::put<{name}" for name in ("long int> 3", "char> 97")]
    assert lines == expected, result.stderr.decode()
