import contextlib
import gc
import sys


def wanted(n):
    return n and wanted(n - 1)


wanted(4)
sys.audit("ours", 5)
gc.collect(1)
with contextlib.suppress(ImportError):
    import not_there  # noqa: F401
