"""``bpf.program("NAME")``, a pattern or an ID: BPF programs that run, and their functions.

Which programs there are is known when the session starts, so a point is one
site and the runtime finds the places.  Only `-l` asks the running kernel.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.ir.program import LONG, ContextValue
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.probes.family import (
    Form,
    Match,
    PointError,
    Row,
    forms,
    number_of,
    print_point,
    text_of,
)
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.ir.program import DerivedProbe
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

# By the kernel's numbers, in the words of bpftool: the structure that `$ctx` points to in the
# kernel, which is not the one that the program's own text speaks of.  "": no structure.
TYPES = {
    "unspec": "",
    "socket_filter": "sk_buff",
    "kprobe": "pt_regs",
    "sched_cls": "sk_buff",
    "sched_act": "sk_buff",
    "tracepoint": "",
    "xdp": "xdp_buff",
    "perf_event": "bpf_perf_event_data_kern",
    "cgroup_skb": "sk_buff",
    "cgroup_sock": "sock",
    "lwt_in": "sk_buff",
    "lwt_out": "sk_buff",
    "lwt_xmit": "sk_buff",
    "sock_ops": "bpf_sock_ops_kern",
    "sk_skb": "sk_buff",
    "cgroup_device": "bpf_cgroup_dev_ctx",
    "sk_msg": "sk_msg",
    "raw_tracepoint": "bpf_raw_tracepoint_args",
    "cgroup_sock_addr": "bpf_sock_addr_kern",
    "lwt_seg6local": "sk_buff",
    "lirc_mode2": "",
    "sk_reuseport": "sk_reuseport_kern",
    "flow_dissector": "bpf_flow_dissector",
    "cgroup_sysctl": "bpf_sysctl_kern",
    "raw_tracepoint_writable": "bpf_raw_tracepoint_args",
    "cgroup_sockopt": "bpf_sockopt_kern",
    "tracing": "",
    "struct_ops": "",
    "ext": "",
    "lsm": "",
    "sk_lookup": "bpf_sk_lookup_kern",
    "syscall": "",
    "netfilter": "bpf_nf_ctx",
}
MAX_ID = 2**31 - 1
MAX_ARGS = 5  # of a function, in registers
RESULT = MAX_ARGS  # STAPY_BPF_RESULT


class BpfSite(Record):
    """One point: ``program`` is a pattern, None when ``id`` is set; ``kind`` a name of `TYPES`.

    ``function`` is a pattern of the program's functions, None for the program itself.
    """

    program: str | None
    id: int
    kind: str
    function: str | None
    optional: bool
    is_return: bool


class BpfFamily:
    """The family of running BPF programs."""

    name = "bpf"
    forms: list[Form] = forms(
        *(
            f"bpf.program({kind}){only}{inside}{end}"
            for kind in ("string", "number")
            for only in ("", ".type(string)")
            for inside in ("", ".function(string)")
            for end in ("", ".return")
        )
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Return the point itself; for lists one match per program that runs and fits.

        Raises `PointError` for a bad number or type, and for a list without a match.
        """
        found = {c.name: c for c in point.components}
        program = found["program"]
        number = number_of(program)
        if number is not None and not 1 <= number <= MAX_ID:
            raise PointError(
                "E0212",
                f"number of a BPF program out of range (1, {MAX_ID})",
                program.span,
                hint="stapy -l 'bpf.program(\"*\")' lists those that run",
            )
        site = BpfSite(
            text_of(program) if number is None else None,
            number or 0,
            _kind(found.get("type")),
            text_of(found["function"]) if "function" in found else None,
            point.optional or point.sufficient,
            "return" in found,
        )
        if services.options.listing is not None:
            return _running(site, program, services)
        return [Match(print_point(point), site)]

    def scope(self, site: BpfSite, services: Services) -> TargetScope | None:
        """Describe ``$ctx`` or ``$arg1`` … ``$arg5``; for a return ``$return`` as well."""
        word: ctypes.CType = ctypes.Int("long", 8, True, "signed")

        def variable(name: str, type: ctypes.CType, index: int, size: int = 8) -> TargetVariable:
            value = ContextValue(NOWHERE, LONG, "trace_arg", index, size, size < 8)
            return TargetVariable(name, type, value)

        variables = {}
        if site.function is None:
            struct = TYPES[site.kind] if site.kind else ""
            target = services.debuginfo.type(f"struct {struct}", []) if struct else None
            pointer = ctypes.Pointer(target) if target is not None else word
            variables["$ctx"] = variable("$ctx", pointer, 0)
        else:
            for at in range(MAX_ARGS):
                variables[f"$arg{at + 1}"] = variable(f"$arg{at + 1}", word, at)
        groups = {"$$parms": list(variables), "$$locals": [], "$$vars": list(variables)}
        if site.is_return:
            # The kernel takes 32 bits from a program; functions have a register.
            result = word if site.function else ctypes.Int("int", 4, True, "signed")
            size = 8 if site.function else 4
            variables["$return"] = variable("$return", result, RESULT, size)
            groups |= {"$$return": ["$return"], "$$vars": list(variables)}
        hint = 'with .type("xdp") or another, $ctx has a type' if not site.kind else ""
        entry = TargetScope("kernel", {n: v for n, v in variables.items() if n != "$return"})
        return TargetScope(
            "kernel",
            variables,
            groups,
            entry=entry if site.is_return else None,
            is_return=site.is_return,
            missing="of a BPF program only the registers at its start and end are known",
            hint=hint,
            key=f"{site.kind}:{site.function is None}:{site.is_return}",
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_bpf_row``."""
        return [
            {
                "point": point,
                "program": site.program,
                "id": site.id,
                "type": list(TYPES).index(site.kind) if site.kind else 0,
                "function": site.function,
                "optional": site.optional,
                "is_return": site.is_return,
                "slot_bytes": 0,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _kind(component: PointComponent | None) -> str:
    """Read the name of a type of programs, "" without one; `PointError` for an unknown one."""
    if component is None:
        return ""
    kind = text_of(component)
    if kind in TYPES and kind != "unspec":
        return kind
    names = list(TYPES)[1:]
    near = nearest(kind, names, 1)
    raise PointError(
        "E0231",
        "no match",
        component.span,
        notes=[f"'{kind}' is not one of the {len(names)} types of BPF programs"],
        hint=f"did you mean '{near[0]}'?" if near else f"such as {', '.join(names[:6])}",
    )


def _running(site: BpfSite, component: PointComponent, services: Services) -> list[Match]:
    """List what runs now and fits, as points; raises `PointError` when nothing does."""
    from stapy.kernel import bpf

    services.listing_expires = True
    try:
        if services.kernel is None:
            raise bpf.BpfError("which kernel is meant is not known")
        programs = bpf.running(services.kernel, list(TYPES))
    except bpf.BpfError as error:
        raise PointError(
            "E0231", "running BPF programs cannot be listed", component.span, notes=[str(error)]
        ) from error
    matches = []
    for program in programs:
        if site.program is None:
            fits = program.id == site.id
        else:
            fits = any(fnmatchcase(name, site.program) for name in (program.name, program.short))
        if not fits or (site.kind and site.kind != program.kind):
            continue
        by_name = site.program is not None and program.name
        text = f"bpf.program({quote_name(program.name) if by_name else program.id})"
        text += f'.type("{site.kind}")' if site.kind else ""
        names = [""]
        if site.function is not None:
            names = [f for f in program.functions if fnmatchcase(f, site.function)]
        for name in names:
            inside = f".function({quote_name(name)})" if site.function is not None else ""
            matches.append(Match(text + inside + (".return" if site.is_return else ""), site))
    if not matches:
        number = len(programs)
        notes = [f"of the {number} BPF programs here none fits" if number else "none runs here"]
        raise PointError("E0231", "no match", component.span, notes=notes)
    return matches


FAMILY = BpfFamily()
