"""What a command line has given so far: an option that comes again never wins in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.options.option import ADDS, LAST, REFUSED, UsageError

if TYPE_CHECKING:
    from stapy.options import Options
    from stapy.options.option import Option

# Where SystemTap refuses a second one, too, in words that scripts compare: by what sets them.
_ITS_OWN_WORDS = {"privilege"}


def place_of(option: Option, value: str) -> object:
    """Return what only one of several options can fill; None where each says something more."""
    if option.again == ADDS:
        return None
    place = option.alike or option.long or option.short
    return (place, value.partition("=")[0]) if option.is_named else place


class GivenOptions:
    """The options of one command line, by the places that they fill."""

    def __init__(self) -> None:
        self._by_place: dict[object, tuple[Option, str]] = {}

    def enter(self, options: Options, option: Option, value: str) -> None:
        """Let an option set what it does; refuse it, or tell, where another had set it.

        Raises `UsageError`.
        """
        place = place_of(option, value)
        before = self._by_place.get(place) if place is not None else None
        if before is not None and option.written(value) != before[0].written(before[1]):
            self._told(options, before, (option, value))
        option.set(options, value)
        if place is not None:
            self._by_place[place] = (option, value)

    @staticmethod
    def _told(options: Options, before: tuple[Option, str], after: tuple[Option, str]) -> None:
        option, (first, second) = after[0], (one.written(value) for one, value in (before, after))
        if option.alike in _ITS_OWN_WORDS:
            return
        if option.again == REFUSED and option is before[0]:
            name = option.written("")
            raise UsageError(f"{name} was given twice: '{before[1]}' and '{after[1]}'.")
        if option.again == REFUSED:
            raise UsageError(f"'{first}' and '{second}' cannot be given both.")
        if option.again == LAST:
            options.notices.append(f"'{first}' has no effect: '{second}' comes behind it")
