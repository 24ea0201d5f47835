"""``netfilter.hook("H").pf("F")``, ``.priority("P")``: packets at hooks of the network stack.

Hooks, families and priorities have the names of the kernel's headers for user
programs (``linux/netfilter*.h``).  Values come from BTF; those that are macros
there, and so in no BTF, from the tables below: both never change.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes as c
from stapy.diagnostics import NOWHERE
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.ir.program import LONG, ContextValue
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.probes.family import Form, Match, PointError, Row, forms, text_of
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.ir.program import DerivedProbe
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
_ROUTING = ("PRE_ROUTING", "LOCAL_IN", "FORWARD", "LOCAL_OUT", "POST_ROUTING")
_IP_PRIORITIES = {
    "FIRST": INT_MIN,
    "RAW_BEFORE_DEFRAG": -450,
    "CONNTRACK_DEFRAG": -400,
    "RAW": -300,
    "SELINUX_FIRST": -225,
    "CONNTRACK": -200,
    "MANGLE": -150,
    "NAT_DST": -100,
    "FILTER": 0,
    "SECURITY": 50,
    "NAT_SRC": 100,
    "SELINUX_LAST": 225,
    "CONNTRACK_HELPER": 300,
    "CONNTRACK_CONFIRM": INT_MAX,
    "LAST": INT_MAX,
}
_BRIDGE_PRIORITIES = {
    "FIRST": INT_MIN,
    "NAT_DST_BRIDGED": -300,
    "FILTER_BRIDGED": -200,
    "BRNF": 0,
    "NAT_DST_OTHER": 100,
    "FILTER_OTHER": 200,
    "NAT_SRC": 300,
    "LAST": INT_MAX,
}
MAX_PRIORITY_DIGITS = 11


def _numbered(prefix: str, names: tuple[str, ...]) -> dict[str, int]:
    return {prefix + name: value for value, name in enumerate(names)}


def _prefixed(prefix: str, names: dict[str, int]) -> dict[str, int]:
    return {prefix + name: value for name, value in names.items()}


class Protocol(Record):
    """One protocol family: its names, the usual one first, and the names at its hooks.

    ``hooks`` are by the same number where they have two names; ``option`` is
    the kernel's configuration without which there are none.
    """

    names: tuple[str, ...]
    value: int
    hooks: dict[str, int]
    priorities: dict[str, int] = new(dict)
    option: str = ""

    @property
    def count(self) -> int:
        """How many hooks it has; their numbers begin at 0."""
        return max(self.hooks.values()) + 1


_INET = _numbered("NF_INET_", _ROUTING)
_IP = _prefixed("NF_IP_PRI_", _IP_PRIORITIES)
_IP6 = _prefixed("NF_IP6_PRI_", _IP_PRIORITIES)
PROTOCOLS = (
    Protocol(("NFPROTO_IPV4", "PF_INET", "AF_INET"), 2, _INET | _numbered("NF_IP_", _ROUTING), _IP),
    Protocol(
        ("NFPROTO_IPV6", "PF_INET6", "AF_INET6"),
        10,
        _INET | _numbered("NF_IP6_", _ROUTING),
        {name: value for name, value in _IP6.items() if name != "NF_IP6_PRI_CONNTRACK_CONFIRM"},
        "CONFIG_IPV6",
    ),
    Protocol(
        ("NFPROTO_ARP",),
        3,
        _numbered("NF_ARP_", ("IN", "OUT", "FORWARD")),
        option="CONFIG_NETFILTER_FAMILY_ARP",
    ),
    Protocol(
        ("NFPROTO_BRIDGE", "PF_BRIDGE", "AF_BRIDGE"),
        7,
        _numbered("NF_BR_", _ROUTING),
        _prefixed("NF_BR_PRI_", _BRIDGE_PRIORITIES),
        "CONFIG_NETFILTER_FAMILY_BRIDGE",
    ),
)
# IPv4 and IPv6 at once: by name only, or a wildcard would mean every packet twice.
BOTH = Protocol(("NFPROTO_INET",), 1, _INET, _IP)
_ALL = (*PROTOCOLS, BOTH)


class HookSite(Record):
    """One hook of one protocol family; smaller priorities see a packet first."""

    pf: int
    hook: int
    priority: int


class NetfilterFamily:
    """The family of netfilter hooks."""

    name = "netfilter"
    forms: list[Form] = forms(
        "netfilter.hook(string).pf(string)",
        "netfilter.hook(string).pf(string).priority(string)",
        "netfilter.pf(string).hook(string)",
        "netfilter.pf(string).hook(string).priority(string)",
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make one site for each hook and family that the patterns name, or `PointError`."""
        found = {c.name: c for c in point.components}
        self._configured("CONFIG_NETFILTER", "netfilter", point.components[0], services)
        matches = []
        for protocol, pf in self._protocols(found["pf"], services):
            try:
                hooks = self._hooks(found["hook"], protocol, services)
            except PointError:
                if not _is_wild(text_of(found["pf"])):
                    raise
                continue
            if protocol.option:
                self._configured(protocol.option, pf, found["pf"], services)
            priority = 0
            if "priority" in found:
                priority = self._priority(found["priority"], protocol, services)
            for hook, number in hooks.items():
                words = {"pf": pf, "hook": hook}
                parts = [
                    f"{part.name}({quote_name(words.get(part.name, text_of(part)))})"
                    for part in point.components[1:]
                ]
                site = HookSite(protocol.value, number, priority)
                matches.append(Match(".".join(["netfilter", *parts]), site))
        if not matches:
            known = {name for protocol in _ALL for name in protocol.hooks}
            raise self._unknown("hook", found["hook"], sorted(known), "any protocol family")
        return matches

    @staticmethod
    def _configured(option: str, what: str, component: PointComponent, services: Services) -> None:
        config = services.kernel.config if services.kernel is not None else None
        if config is not None and config.is_known and not config.is_enabled(option):
            raise PointError(
                "E0231",
                f"this kernel has no hooks of {what}",
                component.span,
                notes=[f"it was built without {option}"],
            )

    def _protocols(
        self, component: PointComponent, services: Services
    ) -> list[tuple[Protocol, str]]:
        """List the protocol families that a name, a pattern or (-g) a number means.

        Each with the name to print. Raises `PointError` when there is none.
        """
        text = text_of(component)
        if _is_wild(text):
            found = [(p, p.names[0]) for p in PROTOCOLS if fnmatchcase(p.names[0], text)]
            if found:
                return found
        for protocol in _ALL:
            if text in protocol.names:
                return [(protocol, text)]
        number = _other(text, services) if services.options.guru else None
        if number is None:
            self._needs_guru("protocol family", component, services)
            names = [name for protocol in _ALL for name in protocol.names]
            raise self._unknown("protocol family", component, names)
        for protocol in _ALL:
            if protocol.value == number:
                return [(protocol, text)]
        raise PointError(
            "E0231",
            f"netfilter has no hooks for protocol family {number}",
            component.span,
            notes=[f"there are those of {', '.join(p.names[0] for p in _ALL)}"],
        )

    def _hooks(
        self, component: PointComponent, protocol: Protocol, services: Services
    ) -> dict[str, int]:
        """Map the names of hooks that a name, a pattern or (with -g) a number means.

        The values are the kernel's numbers. Raises `PointError` when there is none.
        """
        text = text_of(component)
        if _is_wild(text):
            found: dict[int, str] = {}
            for name, value in protocol.hooks.items():
                if fnmatchcase(name, text):
                    found.setdefault(value, name)
            if found:
                return {name: value for value, name in found.items()}
        if text in protocol.hooks:
            return {text: _value(text, protocol.hooks[text], services)}
        number = _other(text, services) if services.options.guru else None
        if number is None:
            self._needs_guru("hook", component, services)
            raise self._unknown("hook", component, list(protocol.hooks), protocol.names[0])
        if not 0 <= number < protocol.count:
            # The kernel would take it for a mistake of its own, and say so with a stack.
            raise PointError(
                "E0231",
                f"{protocol.names[0]} has no hook {number}",
                component.span,
                notes=[f"its hooks are numbered from 0 to {protocol.count - 1}"],
            )
        return {text: number}

    def _priority(self, component: PointComponent, protocol: Protocol, services: Services) -> int:
        """Read a number, or a name that the protocol family has for some.

        Raises `PointError` for any other text.
        """
        text = text_of(component)
        number = _integer(text)
        if number is None and text in protocol.priorities:
            number = _value(text, protocol.priorities[text], services)
        if number is None and services.options.guru:
            number = _other(text, services)
        if number is None:
            names = list(protocol.priorities)
            raise self._unknown("priority", component, names, protocol.names[0])
        if not INT_MIN <= number <= INT_MAX:
            raise PointError(
                "E0212",
                f"priority value out of range ({INT_MIN}, {INT_MAX})",
                component.span,
                notes=[f"{number} was written"],
            )
        return number

    @staticmethod
    def _needs_guru(what: str, component: PointComponent, services: Services) -> None:
        if _integer(text_of(component)) is not None:
            raise PointError(
                "E0214",
                f"a netfilter {what} by its number needs guru mode",
                component.span,
                hint="write its name, or add -g",
            )

    @staticmethod
    def _unknown(
        what: str, component: PointComponent, names: list[str], owner: str = ""
    ) -> PointError:
        text = text_of(component)

        def similar(error: PointError) -> None:
            elsewhere = [p.names[0] for p in _ALL if text in (p.hooks | p.priorities)]
            if elsewhere:
                error.notes.append(f"'{text}' is one of {' and '.join(elsewhere)}")
            if not names:
                error.hint = "write the number"
                return
            near = nearest(text, names, 3)
            if near:
                error.hint = f"did you mean '{near[0]}'?"
            else:
                shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
                error.notes.append(f"there are {shown}")

        of = f" of {owner}" if owner else ""
        message = f"unknown netfilter {what} '{text}'{of}"
        return PointError("E0231", message, component.span, explain=similar)

    def scope(self, site: HookSite, services: Services) -> TargetScope | None:
        """Describe ``$hooknum $skb $in $out``, and ``$verdict``, which guru scripts write."""

        def pointer(name: str) -> CType:
            known = services.debuginfo.type(f"struct {name}", ["kernel"])
            return c.Pointer(known or c.Struct("struct", name, 0, list, is_declaration=True))

        unsigned = c.Int("unsigned int", 4, False, "unsigned")
        signed = c.Int("int", 4, True, "signed")
        device = pointer("net_device")
        types = {
            "$hooknum": unsigned,
            "$skb": pointer("sk_buff"),
            "$in": device,
            "$out": device,
            "$verdict": signed,
        }
        variables = {}
        for index, (name, type) in enumerate(types.items()):
            size = c.size_of(type)
            value = ContextValue(NOWHERE, LONG, "word", index, size, c.is_signed(type))
            variables[name] = TargetVariable(name, type, value, writable=name == "$verdict")
        names = list(variables)[:-1]
        return TargetScope(
            "kernel",
            variables,
            {"$$vars": names, "$$parms": names},
            missing="a netfilter hook knows the packet, its devices and the hook's number",
            key="netfilter",
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_netfilter_row``."""
        return [
            {"point": point, "pf": site.pf, "hook": site.hook, "priority": site.priority}
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _is_wild(text: str) -> bool:
    return any(char in text for char in "*?[")


def _integer(text: str) -> int | None:
    """Read a number as C writes it; None for anything else."""
    sign = -1 if text.startswith("-") else 1
    digits = text[1:] if text[:1] in ("-", "+") else text
    if len(digits) > MAX_PRIORITY_DIGITS or not digits[:1].isdigit() or not digits.isascii():
        return None
    try:
        return sign * int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
    except ValueError:
        return None


def _value(name: str, known: int, services: Services) -> int:
    """Look up what this kernel says a name is; ``known`` when it says nothing."""
    value = services.debuginfo.enumerator(name)
    return known if value is None else int(value)


def _other(text: str, services: Services) -> int | None:
    """Read what guru scripts may write besides: a number, or any enumerator of the kernel.

    Returns None for anything else.
    """
    number = _integer(text)
    if number is not None:
        return number
    for protocol in _ALL:
        for known in (protocol.hooks, protocol.priorities):
            if text in known:
                return _value(text, known[text], services)
    value = services.debuginfo.enumerator(text) if text.isidentifier() else None
    return None if value is None else int(value)


FAMILY = NetfilterFamily()
