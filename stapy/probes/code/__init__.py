"""Points that only DWARF can place, in the kernel and in programs alike.

``ground`` says what the two differ in; ``labels_and_callees`` < ``points``.
"""
