"""Names in generated C: which words a local may not have, and how to make one unique."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stapy.translate.c.text import identifier

KEYWORDS = frozenset(  # a text is the readable form
    """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch
    typedef union unsigned void volatile while asm typeof __label__ s8 s16 s32 s64 u8 u16
    u32 u64 bool true false size_t int64_t uint64_t NULL c keys l out ret current linux unix
    noinline notrace asmlinkage fallthrough noinstr jiffies get_cycles vmemmap d_lock
    rcv_saddr radix_tree_node radix_tree_root sockaddr_storage swapper_pg_dir elf_note
    elf_phdr elf_shdr elfhdr elf_addr_t rcu_head rpc_call rpc_reply sigcontext hash_64
    ioremap iounmap pgoff_t compat_dev_t compat_mode_t compat_statfs console_loglevel
    local_clock conditions
    """.split()  # noqa: SIM905
)

# Kernel headers define macros without arguments for members of these families
# (`#define sk_state __sk_common.skc_state`), which would hit a local of that name.
_TAKEN = re.compile(
    r"(?:sk|si|tw|ir|inet|ireq|ifr|ifc|fib|fib6|fl4|fl6|flowi\d?|icmp6|nd|rsk|s6|udp|sin|rpc|rpcsec|"
    r"tcp|tcm|rq|pbe|xdr|xa|cpu|arch|atomic|raw|pt_regs|pte|pmd|pud|pgd|pgprot|sigev|this_cpu|nr|"
    r"my_cpu|node|first|stapy|f|g|h|at|lock|locks|any|shape|slots|regex|condition|frame)_\w+"
    r"|(?:read|write|swab|swah|be|le|in|out|ins|outs)[a-z]?\d*[bwlqs]?"
    r"|[A-Z][A-Z0-9_]*"
    r"|__\w+"
)


def usable(name: str) -> str:
    """Return the name, with an underscore behind it where C or the kernel already uses it."""
    if name in KEYWORDS or _TAKEN.fullmatch(name):
        return name + "_"
    return name


class Names:
    """Names that are taken in one scope."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken: set[str] = set(taken)

    def take(self, names: Iterable[str]) -> None:
        """Let none of these be made."""
        self._taken.update(names)

    def make(self, wish: str, default: str = "value") -> str:
        """Make a free name as near to the wish as possible, and take it."""
        base = usable(identifier(wish, default)[:40])
        name = base
        number = 2
        while name in self._taken:
            name = f"{base}_{number}"
            number += 1
        self._taken.add(name)
        return name
