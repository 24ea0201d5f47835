"""A program `ssh` that reaches nobody: what a host's name begins with is what becomes of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SSH = """\
#!/bin/sh
# Every call is noted; a shell here takes the place of the host.
echo "$*" >>"$STUB_LOG"
query= control=
while [ $# -gt 0 ]; do
	case $1 in
	-G) query=yes ;;
	-O) control=$2; shift ;;
	-o | -p) shift ;;
	--) shift; break ;;
	esac
	shift
done
host=${1#*@}; shift
[ -n "$query" ] && { cat "$STUB_SETTLED" 2>/dev/null; exit 0; }
[ -n "$control" ] && exit 0
case $host in
cut*)
	export STUB_HOST="$host"
	said=$(eval "$*")
	printf '%s\\n' "$said" | head -n "${host#cut}"
	exit 255 ;;
chatty*) echo Welcome; printf "no end" ;;
slow*) echo $$ >"$STUB_LOG.slow"; exec sleep 3600 ;;
late*) case $* in
	*exec\\(open*) echo $$ >"$STUB_LOG.slow"; exec sleep 3600 ;;
	esac ;;
none*) echo "This account is currently not available."; exit 1 ;;
broken*) echo "sh: Permission denied" >&2; exit 126 ;;
disabled*) echo "This account is disabled."; exit 0 ;;
mute*) exit 0 ;;
dead*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255 ;;
new*) echo "Host key verification failed." >&2; exit 255 ;;
shut*) echo "$host: Permission denied (publickey)." >&2; exit 255 ;;
dying*) case $* in
	*exec\\(open*)
		printf "stapy-remote begins\\na line\\n"; echo "Connection reset by peer" >&2; exit 255 ;;
	esac ;;
esac
export STUB_HOST="$host"
eval "$*"
"""
_UNAME = """\
#!/bin/sh
told="$STUB_RELEASES/$STUB_HOST.machine"
[ "$1" = -m ] && [ -e "$told" ] && exec cat "$told"
[ "$1" = -m ] && case $STUB_HOST in arm*) echo aarch64; exit ;; odd*) echo riscv64; exit ;; esac
[ "$1" = -r ] && [ -e "$STUB_RELEASES/$STUB_HOST" ] && exec cat "$STUB_RELEASES/$STUB_HOST"
[ "$1" = -r ] && case $STUB_HOST in arm*) echo "1.2.3-$STUB_HOST"; exit ;; esac
exec /bin/uname "$@"
"""
# Files of the kernel, in which hosts differ: one takes modules unless its name says otherwise.
_CAT = """\
#!/bin/sh
case $STUB_HOST$1 in
admin*/proc/keys) [ -n "$STUB_SUDO" ] && exec /bin/cat "$STUB_RELEASES/keys" ;;
?*/proc/keys) exec /bin/cat "$STUB_RELEASES/keys" 2>/dev/null ;;
monolith*/proc/*) exit 1 ;;
once*/proc/sys/kernel/modules_disabled) echo 1 ;;
?*/proc/sys/kernel/modules_disabled) echo 0 ;;
strict*/sys/module/module/parameters/sig_enforce) echo Y ;;
locked*/sys/kernel/security/lockdown) echo "none [integrity] confidentiality" ;;
?*/proc/modules | ?*/sys/*) exit 1 ;;
*) exec /bin/cat "$@" ;;
esac
"""
_ID = """\
#!/bin/sh
case $STUB_HOST in user* | admin*) echo 1000 ;; *) echo 0 ;; esac
"""
_SUDO = """\
#!/bin/sh
case $STUB_HOST in admin*) shift; STUB_SUDO=yes exec "$@" ;; esac
exit 1
"""
_PYTHON = """\
#!/bin/sh
case "$STUB_HOST $*" in old*version_info*) echo 3 8; exit ;; esac
exec {python} "$@"
"""


def environment(folder: Path) -> dict[str, str]:
    """Variables with which `ssh` is the stub, whose notes are in ``folder / "log"``."""
    place = folder / "bin"
    place.mkdir()
    (folder / "releases").mkdir()
    python = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
    texts = {"ssh": _SSH, "uname": _UNAME, "id": _ID, "cat": _CAT, "sudo": _SUDO}
    for name, text in {**texts, "python3": _PYTHON.format(python=python)}.items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    return {
        "PATH": f"{place}:{os.environ['PATH']}",
        "STUB_LOG": str(folder / "log"),
        "STUB_SETTLED": str(folder / "settled"),
        "STUB_RELEASES": str(folder / "releases"),
    }
