"""What the consumer and the translation both know: nothing but the standard library.

No file of this room imports anything of ours, of the consumer either, so that the ground floor
may use it (docs/decisions/rooms.md).
"""
