"""Variables of a user program by its debug information: values, members, globals, results."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

PROGRAM = r"""
#include <string.h>
enum colour { RED, GREEN = 5 };
struct node {
	int value;
	short small[3];
	unsigned low : 3, high : 5;
	char name[8];
	struct node *next;
	enum colour colour;
};
struct pair { long a, b; };
struct big { long a, b, c; };
int counter = 41;
static long hidden = -7;
struct node root = { 1, { 2, 3, 4 }, 5, 9, "root", &root, GREEN };

__attribute__((noipa)) static long walk(struct node *n, int depth, const char *text, char c,
	struct pair both, struct big large, long seven, unsigned char eight)
{
	long total = 0;
	while (depth-- > 0) {
		total += n->value + n->small[1] + both.a + large.c + seven + eight + c + *text;
		n = n->next;
		counter++;
		hidden--;
	}
	return total;
}
__attribute__((noipa)) struct pair made(long n) { struct pair p = { n, -n }; return p; }
__attribute__((noipa)) unsigned char byte(int n) { return n; }
__attribute__((noipa)) double half(double d, int n) { return d / n; }
int main(int count, char **words)
{
	struct node second = { 100, { -2, -3, -4 }, 1, 2, "second", &root, RED };
	struct pair p = { 11, 12 };
	struct big b = { 21, 22, 23 };
	long t = walk(&second, 2, second.name, 'x', p, b, 77, 200);
	return made(t).b + byte(300 + count) + (int) half(3.0, 2) == 0;
}
"""
SCRIPT = """
global wrong
probe process("{path}").function("walk") {{
	printf("%d %d %s %c %d %d\\n", $n->value, $depth, user_string($text), $c, $seven, $eight)
	printf("%d %d %d %d %s %d\\n", $n->small[1], $n->small[2], $n->low, $n->high,
		user_string($n->name), $n->colour)
	printf("next %d %s\\n", $n->next->value, user_string($n->next->name))
	printf("%d %d %d %d\\n", $both->a, $both->b, $large->a, $large->c)
	x = $n
	printf("auto %d %d\\n", x->value, x->next->next->colour)
	y = pointer_arg(1) + 0
	printf("cast %d %d\\n", @cast(y, "struct node", "{path}")->value,
		@cast(y, "node")->next->colour)
	if (&$n->next != &@cast(y, "struct node", "{path}")->next) wrong++
	printf("%s\\n", $n$)
	printf("global %d %d %d %d\\n", $counter, $hidden, @var("counter@program.c", "{path}"),
		$root->value)
}}
probe process("{path}").function("walk").return {{
	printf("%d from depth %d, %s, counter %d\\n", $return, @entry($depth),
		user_string(@entry(&$n->name)), @var("counter", "{path}"))
}}
probe process("{path}").function("made").return {{
	printf("%d %d n %d\\n", $return->a, $return->b, @entry($n))
}}
probe process("{path}").function("byte").return {{
	printf("%d of %d %s\\n", $return, @entry($n), $$return)
}}
probe process("{path}").function("half") {{ printf("%d %d\\n", $n, wrong) }}
"""
EXPECTED = [
    "100 2 second x 77 200",
    "-3 -4 1 2 second 0",
    "next 1 root",
    "11 12 21 23",
    "auto 100 5",
    "cast 100 5",
    '{.value=100, .small=[-2, -3, -4], .low=1, .high=2, .name="second", .next=ADDRESS, .colour=0}',
    "global 41 -7 41 1",
    "1193 from depth 2, second, counter 43",
    "1193 -1193 n 1193",
    "45 of 301 return=0x2d",
    "2 0",
]


@pytest.mark.parametrize(
    "options",
    [["-O2", "-fPIE", "-pie"], ["-O2", "-no-pie"], ["-O0"]],
    ids=["optimised", "fixed", "plain"],
)
def test_variables_have_their_values(
    guest: Machine, release: str, tmp_path: Path, options: list[str]
) -> None:
    path = compiled(tmp_path, PROGRAM, "-g", *options)
    modules = make(release, tmp_path, variables=SCRIPT.format(path=path))
    lines, result = shell(guest, modules, f"$run -c {path} $variables; echo status $?")
    shown = [line.partition(".next=0x") for line in lines]
    plain = [
        head + ".next=ADDRESS" + tail[tail.index(",") :] if mark else head
        for head, mark, tail in shown
    ]
    assert plain == [*EXPECTED, "status 0"], result.stderr.decode()
