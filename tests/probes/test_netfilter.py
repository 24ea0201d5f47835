"""Hooks of netfilter: which numbers a point stands for, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from stapy.diagnostics import NOWHERE
from stapy.kernel.config import Config
from stapy.parse import nodes as n
from stapy.probes.families.netfilter import FAMILY, INT_MAX, INT_MIN
from stapy.probes.family import PointError
from tests.elaborate.support import FakeDebuginfo, Result, run
from tests.probes.test_begin_end import rows


def probe(point: str, body: str = "println(1)", **options: Any) -> Result:
    return run(f"probe {point} {{ {body} }}", **options)


@pytest.mark.parametrize(
    ("point", "pf", "hook", "priority"),
    [
        ('netfilter.hook("NF_INET_PRE_ROUTING").pf("NFPROTO_IPV4")', 2, 0, 0),
        ('netfilter.pf("NFPROTO_IPV4").hook("NF_IP_LOCAL_IN")', 2, 1, 0),
        ('netfilter.hook("NF_INET_FORWARD").pf("PF_INET").priority("255")', 2, 2, 255),
        ('netfilter.hook("NF_INET_FORWARD").pf("PF_INET").priority("-0x10")', 2, 2, -16),
        ('netfilter.pf("PF_INET").hook("NF_IP_FORWARD").priority("NF_IP_PRI_NAT_DST")', 2, 2, -100),
        ('netfilter.pf("NFPROTO_IPV6").hook("NF_IP6_LOCAL_OUT")', 10, 3, 0),
        ('netfilter.pf("PF_INET6").hook("NF_INET_POST_ROUTING").priority("NF_IP6_PRI_LAST")', 10, 4,
         INT_MAX),
        ('netfilter.pf("NFPROTO_ARP").hook("NF_ARP_OUT")', 3, 1, 0),
        ('netfilter.pf("NFPROTO_BRIDGE").hook("NF_BR_FORWARD").priority("NF_BR_PRI_FIRST")', 7, 2,
         INT_MIN),
        ('netfilter.pf("NFPROTO_INET").hook("NF_INET_LOCAL_IN")', 1, 1, 0),
    ],
)  # fmt: skip
def test_row(point: str, pf: int, hook: int, priority: int) -> None:
    assert rows(f"probe {point} {{ println(1) }}", "netfilter") == [
        {"point": point, "pf": pf, "hook": hook, "priority": priority}
    ]


def test_numbers_and_any_enumerator_in_guru_mode() -> None:
    class More(FakeDebuginfo):
        def enumerator(self, name: str, modules: Any = ()) -> int | None:
            return {"MY_HOOK": 3, "MY_PRIORITY": 7}.get(name)

    point = 'netfilter.hook("MY_HOOK").pf("0x2").priority("MY_PRIORITY")'
    result = probe(point, guru=True, debuginfo=More())
    assert result.program is not None
    assert FAMILY.rows(result.program.probes[0], 0) == [
        {"point": point, "pf": 2, "hook": 3, "priority": 7}
    ]
    assert probe(point, debuginfo=More()).codes == ["E0214"]


def test_the_kernel_knows_better() -> None:
    class Other(FakeDebuginfo):
        def enumerator(self, name: str, modules: Any = ()) -> int | None:
            return {"NF_IP_PRI_RAW": -301}.get(name)

    point = 'netfilter.hook("NF_IP_FORWARD").pf("PF_INET").priority("NF_IP_PRI_RAW")'
    result = probe(point, debuginfo=Other())
    assert result.program is not None
    assert FAMILY.rows(result.program.probes[0], 0)[0]["priority"] == -301


@pytest.mark.parametrize(
    ("point", "count"),
    [
        ('netfilter.hook("*").pf("*")', 18),
        ('netfilter.hook("*").pf("NFPROTO_IPV?")', 10),
        ('netfilter.pf("NFPROTO_IPV4").hook("*_LOCAL_*")', 2),
        ('netfilter.pf("*").hook("NF_ARP_*")', 3),
        ('netfilter.pf("*").hook("NF_INET_[FL]*").priority("5")', 6),
    ],
)
def test_wildcards(point: str, count: int) -> None:
    result = probe(point)
    assert result.program is not None
    points = result.program.probes[0].points
    assert len(points) == len(set(points)) == count
    for one in points:
        assert rows(f"probe {one} {{ println(1) }}", "netfilter")[0]["point"] == one


@pytest.mark.parametrize(
    ("point", "code", "message", "more"),
    [
        ('netfilter.hook("NF_INET_LOCL_IN").pf("NFPROTO_IPV4")', "E0231",
         "unknown netfilter hook 'NF_INET_LOCL_IN' of NFPROTO_IPV4",
         "did you mean 'NF_INET_LOCAL_IN'?"),
        ('netfilter.hook("NF_ARP_IN").pf("NFPROTO_IPV4")', "E0231",
         "unknown netfilter hook 'NF_ARP_IN' of NFPROTO_IPV4", "'NF_ARP_IN' is one of NFPROTO_ARP"),
        ('netfilter.hook("NF_IP_LOCAL_IN").pf("NFPROTO_IP4")', "E0231",
         "unknown netfilter protocol family 'NFPROTO_IP4'", "did you mean 'NFPROTO_IPV4'?"),
        ('netfilter.hook("x").pf("NFPROTO_ARP")', "E0231", "unknown netfilter hook 'x'",
         "there are NF_ARP_IN, NF_ARP_OUT, NF_ARP_FORWARD"),
        ('netfilter.hook("NF_ARP_IN").pf("NFPROTO_ARP").priority("NF_IP_PRI_RAW")', "E0231",
         "unknown netfilter priority 'NF_IP_PRI_RAW' of NFPROTO_ARP", "write the number"),
        ('netfilter.hook("NF_IP_FORWARD").pf("PF_INET").priority("NF_IP_PRI_RAV")', "E0231",
         "unknown netfilter priority", "did you mean 'NF_IP_PRI_RAW'?"),
        ('netfilter.hook("NF_IP_FORWARD").pf("PF_INET").priority("2147483648")', "E0212",
         "priority value out of range (-2147483648, 2147483647)", "2147483648 was written"),
        ('netfilter.hook("NF_IP_FORWARD").pf("PF_INET").priority("")', "E0231",
         "unknown netfilter priority ''", "there are"),
        ('netfilter.hook("NF_X*").pf("*")', "E0231", "unknown netfilter hook 'NF_X*'", ""),
        ('netfilter.hook("NF_IP_FORWARD").pf("X*")', "E0231",
         "unknown netfilter protocol family 'X*'", ""),
        ('netfilter.hook("1").pf("NFPROTO_IPV4")', "E0214",
         "a netfilter hook by its number needs guru mode", "write its name, or add -g"),
        ('netfilter.hook("NF_IP_FORWARD").pf("2")', "E0214", "needs guru mode", ""),
        ('netfilter.hook("NF_IP_FORWARD")', "E0230", "no probe point matches", ""),
        ('netfilter.hook(1).pf("NFPROTO_IPV4")', "E0230", "no probe point matches",
         "'hook' takes a string argument"),
    ],
)  # fmt: skip
def test_refused(point: str, code: str, message: str, more: str) -> None:
    result = probe(point)
    assert result.codes == [code]
    item = result.diagnostics.items[0]
    assert message in item.message
    assert more in "\n".join([*item.notes, item.hint])


@pytest.mark.parametrize(
    ("point", "message"),
    [
        # The kernel would warn of these with a stack.
        ('netfilter.hook("5").pf("NFPROTO_IPV4")', "NFPROTO_IPV4 has no hook 5"),
        ('netfilter.hook("5").pf("NFPROTO_BRIDGE")', "NFPROTO_BRIDGE has no hook 5"),
        ('netfilter.hook("3").pf("3")', "NFPROTO_ARP has no hook 3"),
        ('netfilter.hook("-1").pf("10")', "NFPROTO_IPV6 has no hook -1"),
        ('netfilter.hook("0").pf("5")', "netfilter has no hooks for protocol family 5"),
        ('netfilter.hook("0").pf("99999999999999999999")', "unknown netfilter protocol family"),
    ],
)
def test_refused_even_in_guru_mode(point: str, message: str) -> None:
    result = probe(point, guru=True)
    assert result.codes == ["E0231"]
    assert message in result.diagnostics.items[0].message


@pytest.mark.parametrize(
    ("config", "pf", "message"),
    [
        ("CONFIG_X=y\n", "NFPROTO_IPV4", "this kernel has no hooks of netfilter"),
        ("CONFIG_NETFILTER=y\n", "NFPROTO_ARP", "this kernel has no hooks of NFPROTO_ARP"),
        ("CONFIG_NETFILTER=y\n", "NFPROTO_BRIDGE", "this kernel has no hooks of NFPROTO_BRIDGE"),
        ("CONFIG_NETFILTER=y\n", "NFPROTO_IPV6", "this kernel has no hooks of NFPROTO_IPV6"),
        ("CONFIG_NETFILTER=y\n", "NFPROTO_IPV4", ""),
        ("CONFIG_NETFILTER=y\nCONFIG_IPV6=m\n", "NFPROTO_IPV6", ""),
        ("", "NFPROTO_ARP", ""),  # a kernel whose configuration nobody knows
    ],
)
def test_kernels_built_without_it(config: str, pf: str, message: str, tmp_path: Any) -> None:
    class Kernel:
        def __init__(self) -> None:
            (tmp_path / "config").write_text(config)
            self.config = Config([tmp_path / "config"])

    services = probe("begin").services
    services.kernel = Kernel()
    parts = [n.PointComponent(NOWHERE, "netfilter")]
    for name, text in (("hook", "*"), ("pf", pf)):
        parts.append(n.PointComponent(NOWHERE, name, n.String(NOWHERE, text)))
    point = n.ProbePoint(NOWHERE, parts)
    if not message:
        assert FAMILY.resolve(point, services)
        return
    with pytest.raises(PointError, match=message):
        FAMILY.resolve(point, services)


POINT = 'netfilter.hook("NF_INET_LOCAL_IN").pf("NFPROTO_IPV4")'


@pytest.mark.parametrize(
    ("body", "guru", "codes"),
    [
        ("println($hooknum + $skb + $in + $out + $verdict)", False, []),
        ("println($$vars)", False, []),
        ("$verdict = 0", False, ["E0216"]),
        ("$verdict = 0", True, []),
        ("$verdict++", True, []),
        ("$hooknum = 0", True, ["E0245"]),
        ("$skb = 0", True, ["E0245"]),
        ("println($verdct)", False, ["E0241"]),
        ("println($pf)", False, ["E0241"]),
    ],
)
def test_variables(body: str, guru: bool, codes: list[str]) -> None:
    assert probe(POINT, body, guru=guru).codes == codes
