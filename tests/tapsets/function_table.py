"""Scripts made of `functions.table`, for the tests and for the oracle.

A row is an expression, what it gives and, where SystemTap 5.6 gives something else on purpose
(docs/differences.md), what that is; tabs between them.  `! text` is an error with this text.
Rows below `%memory` need memory that can be read and written: they run in a system call of dd.
"""

from __future__ import annotations

import re
from pathlib import Path

from stapy.record import Record

TABLE = Path(__file__).with_name("functions.table")
ROWS = 650  # of one script
GROUP = 12  # of one function: each has room of its own for the texts in between
WORDS = ["-g", "-DMAXACTION=10000000", "-DSTP_NO_OVERLOAD", "--suppress-time-limits"]
COMMAND = "dd if=/dev/zero of=/dev/null bs=4096 count=1 status=none"

HELPERS = r"""
%{
#include <linux/uaccess.h>
static unsigned char area[2048] __attribute__((aligned(2048)));
static unsigned long users;
%}
function big:string(n:long) { s = ""; while (n-- > 0) s .= "a"; return s }
function q:string(n:long) { s = ""; while (n-- > 0) s .= "\303\244"; return s }
function quotes:string(n:long) { s = ""; while (n-- > 0) s .= "\""; return s }
/* The address of kernel memory with these bytes and zeros behind them. */
function k:long(h:string) %{
	const char *p = STAP_ARG_h;
	int i = 0;
	memset(area, 0, sizeof(area));
	for (; p[0] && p[1]; p += 2)
		area[i++] = hex_to_bin(p[0]) << 4 | hex_to_bin(p[1]);
	STAP_RETVALUE = (long)area;
%}
function kbig:long(n:long) %{
	memset(area, 0, sizeof(area));
	memset(area, 'a', STAP_ARG_n);
	STAP_RETVALUE = (long)area;
%}
/* The same in the buffer of the process. */
function toward:long(at:long) %{
	unsigned long left;
	if (STAP_ARG_at)
		users = STAP_ARG_at;
	pagefault_disable();
	left = __copy_to_user_inatomic((void __user *)users, area, sizeof(area));
	pagefault_enable();
	STAP_RETVALUE = left ? -1 : (long)users;
%}
function u:long(h:string) { k(h); return toward(0) }
function ubig:long(n:long) { kbig(n); return toward(0) }
/* The first bytes of either in hexadecimal. */
function kbytes:string() %{
	snprintf(STAP_RETVALUE, MAXSTRINGLEN, "%*phN", 12, area);
%}
function ubytes:string() %{
	pagefault_disable();
	if (__copy_from_user_inatomic(area, (void __user *)users, sizeof(area)))
		area[0] = '!';
	pagefault_enable();
	snprintf(STAP_RETVALUE, MAXSTRINGLEN, "%*phN", 12, area);
%}
"""


class Row(Record):
    """An expression and what it gives here and there."""

    text: str
    ours: str
    theirs: str


def sections() -> dict[str, list[Row]]:
    """Read the rows of ``values`` and ``memory``."""
    found: dict[str, list[Row]] = {}
    rows: list[Row] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("%"):
            rows = found.setdefault(line[1:], [])
        elif line and not line.startswith("#"):
            text, ours, *theirs = line.split("\t")
            rows.append(Row(text, ours, theirs[0] if theirs else ours))
    return found


def script(rows: list[Row], memory: bool) -> str:
    """Write a script that prints the number of each row and what it gives."""
    parts, calls = [HELPERS], []
    for first in range(0, len(rows), GROUP):
        lines = [statement(at, rows[at].text) for at in range(first, min(first + GROUP, len(rows)))]
        parts.append(f"function rows{first}() {{\n" + "\n".join(lines) + "\n}")
        calls.append(f"rows{first}()")
    body = "\n\t".join(calls)
    if memory:
        guard = "if (pid() != target() || fd != 1 || done++) next\n\ttoward(buf_uaddr)"
        parts.append(f"global done\nprobe syscall.write {{\n\t{guard}\n\t{body}\n}}")
    else:
        parts.append(f"probe begin {{\n\t{body}\n\texit()\n}}")
    return "\n".join(parts) + "\n"


def statement(number: int, text: str) -> str:
    """Write the statement of a row: `set_x(…) → k` shows memory, `do x()` what is printed."""
    call, _, memory = text.partition(" → ")
    if memory:
        shown = f'{call}; printf("{number}|%s|\\n", {memory}bytes())'
    elif text.startswith("do "):
        shown = f'printf("{number}|"); {text[3:]}; println("|")'
    else:
        shown = f'printf("{number}|%s|\\n", sprint({text}))'
    return f'\ttry {{ {shown} }} catch (m) {{ printf("{number}! %s|\\n", m) }}'


def answers(stdout: str) -> dict[int, str]:
    """Map the number of a row to what it gave, without control characters."""
    found = {}
    for match in re.finditer(r"^(\d+)([|!])(.*?)\|\n(?=\d+[|!]|\Z)", stdout, re.M | re.S):
        text = match[3].encode("utf-8", "surrogateescape").decode("latin-1")
        text = re.sub(r"0x[0-9a-f]{10,}", "0xADDRESS", text)
        text = text.encode("unicode_escape").decode("ascii")
        found[int(match[1])] = ("!" if match[2] == "!" else "") + text
    return found
