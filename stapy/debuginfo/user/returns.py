"""Which functions must not have their return probed, and why.

The kernel takes what is on top of the stack at a function's first instruction for its return
address and puts another one there. Some functions have something else there, and some look
at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import cache

_ENTERED_OTHERWISE = "it is not called: what is on top of its stack is no return address"
_KEEPS = "it keeps its return address, by which the program comes back later"
_UNWINDS = "it unwinds the stack from its caller on, which a probed return hides from it"
_ASKS = "it asks by its return address who has called it"

# Patterns of names; all names of an address are compared.
_TABLE: tuple[tuple[str, str], ...] = (
    # Where the kernel, the loader or a context that was made begins to run.
    (_ENTERED_OTHERWISE, "_start _dl_start_user _rt0_* __start_context __restore_rt"),
    # The binder of lazy calls has what the table of procedures pushed.
    (_ENTERED_OTHERWISE, "_dl_runtime_resolve* _dl_runtime_profile*"),
    # What compilers and linkers split off a function is jumped to.
    (_ENTERED_OTHERWISE, "*.cold *.cold.* *.warm *.warm.*"),
    (_KEEPS, "*setjmp *sigsetjmp getcontext __getcontext swapcontext __swapcontext"),
    (_KEEPS, "unw_getcontext __unw_getcontext _Ux86_64_getcontext _Ux86_64_getcontext_trace"),
    (_KEEPS, "jump_fcontext ontop_fcontext __morestack"),
    (_UNWINDS, "_Unwind_RaiseException _Unwind_Resume _Unwind_Resume_or_Rethrow"),
    (_UNWINDS, "_Unwind_ForcedUnwind _Unwind_Backtrace"),
    (_UNWINDS, "__cxa_throw __cxa_rethrow __cxa_throw_bad_* __cxa_bad_*"),
    (_UNWINDS, "_ZSt[0-9]*__throw_* _ZSt17rethrow_exception*"),
    (_UNWINDS, "pthread_exit __pthread_exit __pthread_unwind __pthread_unwind_next"),
    (_ASKS, "dlsym __dlsym ___dlsym dlvsym __dlvsym ___dlvsym"),
    (_ASKS, "dlopen __dlopen ___dlopen dlmopen __dlmopen ___dlmopen"),
    (_ASKS, "mcount _mcount __fentry__"),
)


def why_not(names: Iterable[str], *, is_entry: bool = False) -> str | None:
    """Say why the return of a function, by all of its names, must not be probed; None if it may.

    ``is_entry`` is true for the address that the file is entered by.
    """
    if is_entry:
        return _ENTERED_OTHERWISE
    every, table = _compiled()
    for name in names:
        if every.match(name):
            return next(reason for reason, pattern in table if pattern.match(name))
    return None


@cache
def _compiled() -> tuple[re.Pattern[str], list[tuple[str, re.Pattern[str]]]]:
    table = [
        (reason, "|".join(translate(pattern) for pattern in patterns.split()))
        for reason, patterns in _TABLE
    ]
    every = re.compile("|".join(pattern for _, pattern in table))
    return every, [(reason, re.compile(pattern)) for reason, pattern in table]
