"""Which entries of functions need all registers saved: a mistake here shows garbage to handlers."""

from __future__ import annotations

import pytest

from tests.translate.support import c_of

READ = 'probe kernel.function("vfs_read")'
FEW = [
    READ + " { n++ }",
    READ + " { n = $count + $file }",
    READ + " { if (here()) n++ } function here:long() %{ STAP_RETVALUE = c->address; %}",
    READ + " { n = first() } function first:long() %{ /* pure */ STAP_RETVALUE = c->regs->di; %}",
    # What runs at the return finds the registers of the return.
    READ + ".return { n = $return }",
    READ + ".return { n = rax() } function rax:long() %{ STAP_RETVALUE = CONTEXT->regs->ax; %}",
    READ + ".return { n = @entry($count) }",
]
ALL = [
    READ + " { n = bx() } function bx:long() %{ STAP_RETVALUE = c->regs->bx; %}",
    READ + " { n = bx() } function bx:long() %{ STAP_RETVALUE = CONTEXT->regs->bx; %}",
    READ + " { n = f() } function f() { return bx() } "
    "function bx:long() %{ STAP_RETVALUE = c->regs->bx; %}",
    READ + " { n = f(c) } function f:long(c:long) %{ STAP_RETVALUE = STAP_ARG_c + helper(c); %}",
    READ + " { %{ CONTEXT->regs->bx = 0; %} }",
    READ + " { n = %{ c->regs->bx %} }",
    "%{\n#define BX c->regs->bx\n%}"
    + READ
    + " { n = f() } function f:long() %{ STAP_RETVALUE = BX; %}",
    READ + ".return { n = @entry(bx()) } function bx:long() %{ STAP_RETVALUE = c->regs->bx; %}",
    READ
    + " { n = f(3) } function f(x) { return x > 2 ? g(x) : bx() } function g(x) { return f(1) }"
    " function bx:long() %{ STAP_RETURN(c->regs->bx); %}" + READ + " { n = g(3) }",
    READ + " { n = f(3) } function f(x) { return x > 2 ? bx() : f(x - 1) } "
    "function bx:long() %{ STAP_RETVALUE = c->regs->bx; %}",
]


@pytest.mark.parametrize(
    ("script", "few"), [(text, True) for text in FEW] + [(text, False) for text in ALL]
)
def test_registers_that_an_entry_needs(script: str, few: bool) -> None:
    text = c_of("global n " + script, "-g")
    assert text.count(".few_registers = true") == (text.count(".symbol = ") if few else 0)
