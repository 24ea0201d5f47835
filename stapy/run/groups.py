"""Who may run modules without being root: members of the groups stapusr, stapsys and stapdev."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional

STAPUSR, STAPSYS, STAPDEV = 1, 2, 3  # enum stapy_privilege in runtime/session.h
LEVELS: Dict[str, int] = {"stapusr": STAPUSR, "stapsys": STAPSYS, "stapdev": STAPDEV}
NAMES = {level: name for name, level in LEVELS.items()}
PAGE = "docs/privileges.md"


class GroupMember:
    """A user and what the groups allow him; ``level`` is 0 for somebody who is in none."""

    def __init__(self, uid: int, gid: int, name: str, groups: list[int], level: int) -> None:
        self.uid = uid
        self.gid = gid
        self.name = name
        self.groups = groups
        self.level = level

    def refusal(self) -> str:
        """Say why this user may run nothing, "" when there is something that he may."""
        if self.level:
            return ""
        return (
            f"you are trying to run a module as an ordinary user: '{self.name}' would have to be "
            'root, or a member of the group "stapusr" and, for more than it allows, of "stapsys" '
            f'or "stapdev" ({PAGE}); try sudo'
        )


def look_up(uid: int) -> Optional[GroupMember]:
    """Find a user and his groups in the system's database, None for a number that nobody has.

    As for SystemTap, who is in stapsys or stapdev has to be in stapusr as well.
    """
    import grp
    import pwd

    try:
        entry = pwd.getpwuid(uid)
    except (KeyError, OverflowError):
        return None
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    level = 0
    for name, one in LEVELS.items():
        try:
            found = grp.getgrnam(name).gr_gid in groups
        except KeyError:
            found = False
        if name == "stapusr" and not found:
            break
        level = max(level, one if found else 0)
    return GroupMember(uid, entry.pw_gid, entry.pw_name, groups, level)
