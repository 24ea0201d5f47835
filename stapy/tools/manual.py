"""The manual pages of the programs, made from what they say themselves.

``python -m stapy.tools.manual stapy.1`` prints one of them; ``man/`` has them as installed.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser

from stapy.options.table import TABLE
from stapy.options.tools import TOOLS
from stapy.run import merge
from stapy.run.usage import USAGE

_HEAD = '.\\" Made by python -m stapy.tools.manual; do not edit.\n'

_STAPY = """\
.SH NAME
stapy \\- SystemTap\\(aqs language: trace the Linux kernel by scripts
.SH SYNOPSIS
.B stapy
[\\fIoptions\\fR] \\fIFILE\\fR [\\fIarguments\\fR]
.br
.B stapy
[\\fIoptions\\fR] \\fB\\-e\\fR \\fISCRIPT\\fR [\\fIarguments\\fR]
.br
.B stapy
[\\fIoptions\\fR] \\fB\\-l\\fR | \\fB\\-L\\fR \\fIPROBE\\fR
.br
.B stapy
[\\fIoptions\\fR] \\fB\\-i\\fR [\\fIFILE\\fR] [\\fIarguments\\fR]
.br
.B stapy
\\fITOOL\\fR [\\fIoptions\\fR]
.SH DESCRIPTION
A script becomes a kernel module in five passes (parse, elaborate, translate, compile, run), is
loaded, and prints until it calls exit(), its command ends, or it is interrupted. Options may stand
behind the script; arguments that begin with a dash stand behind
.BR \\-\\- .
.PP
Options of SystemTap that have no effect here are told in a warning, those that a script would not
run without are refused.
.SH TOOLS
The first word may name a tool in place of a script, unless the current folder has a file of that
name (dtrace is always the tool);
.B stapy
\\fITOOL\\fR \\fB\\-\\-help\\fR
lists the options of each.
"""

_STAPY_END = """\
.SH ENVIRONMENT
.TP
.B STAPY_MESSAGE_FORMAT
rich, systemtap, short or json, as
.BR \\-\\-message\\-format .
Called as
.BR stap ,
the program writes its messages as SystemTap does.
.TP
.B SYSTEMTAP_RELEASE, SYSTEMTAP_RUNTIME, SYSTEMTAP_TAPSET
stand for
.BR \\-r ,
.B \\-R
and the folder of the tapsets.
.TP
.B SYSTEMTAP_DIR
has the cache, and options in the file
.BR rc .
.TP
.B SYSTEMTAP_DEBUGINFO_PATH, DEBUGINFOD_URLS
say where debug information is.
.TP
.B SYSTEMTAP_COLORS
has the colours of messages.
.TP
.B NO_COLOR
set to anything: no colours, unless \\-\\-color asks for them
.TP
.B COLUMNS
is the width of a terminal, if it is not as wide as it says
.SH EXIT STATUS
0 when the last pass that was asked for did its work and the script met no error, else 1.
.SH SEE ALSO
.BR stapy\\-merge (1),
.BR stapy\\-run (8),
.BR error::pass1 (7stap),
.BR error::pass2 (7stap),
.BR error::pass3 (7stap),
.BR error::pass4 (7stap),
.BR error::pass5 (7stap)
"""

_RUN = """\
.SH NAME
stapy\\-run \\- load and run a module that stapy made
.SH SYNOPSIS
.nf
{usage}
.fi
.SH DESCRIPTION
The last pass of
.BR stapy (1)
as a program of its own. It needs nothing but Python (of Debian the package
python3\\-minimal, with kmod or busybox), so that a module made elsewhere can be run.
.SH OPTIONS
{options}\
.SH ENVIRONMENT
.TP
.B SYSTEMTAP_SYNC
set to anything: what waits for disks is written before the module is loaded
.TP
.B SYSTEMTAP_VERBOSE
a number: as if \\-v were given so often
.TP
.B NO_COLOR
set to anything: no colours, unless \\-C asks for them
.TP
.B COLUMNS
is the width of a terminal, if it is not as wide as it says
.SH SIGNALS
{signals}
.SH SEE ALSO
.BR stapy (1),
.BR error::pass5 (7stap)
"""


_MERGE = """\
.SH NAME
stapy\\-merge \\- put the files of bulk mode together in the order of time
.SH SYNOPSIS
.B stapy\\-merge
[\\fB\\-v\\fR] [\\fB\\-o\\fR \\fIFILE\\fR] \\fIFILES\\fR...
.SH DESCRIPTION
With
.BR \\-b ,
.BR stapy (1)
has each processor write to a file of its own: FILE_0, FILE_1 and so on, or stpd_cpu0, stpd_cpu1
and so on without
.BR \\-o .
This program makes one text of them. Marks say where output is missing, as in a session without
.BR \\-b .
A file that ends in the middle, after a crash, is merged up to there; the exit status is 1 then.
.SH OPTIONS
{options}\
.SH FILES
{files}
.SH FORMAT
A file is a row of pieces, each with a header of 40 bytes, little\\-endian: the four letters SPB2,
the length of the text (4 bytes), its time in nanoseconds since the machine was started, the number
of bytes that were lost before it, the number of those that were overwritten (8 bytes each), a bit
for each cause of the loss (4 bytes: reader too slow, reader stopped, print longer than the buffer,
processor without a buffer, buffer being read, print longer than the limit), and 4 bytes without
meaning. Older files, whose pieces begin with SPB1, have no causes, and headers of 32 bytes.
The text follows, then up to 7 bytes without meaning: each header begins at a multiple of 8. Pieces
of one time belong together.
.SH SEE ALSO
.BR stapy (1),
.BR stapy\\-run (8)
"""


def _text(text: str) -> str:
    """Escape text for roff: dashes and backslashes as they are, no line a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"(?m)^([.])", r"\\&\1", text)


def stapy_page() -> str:
    """Write the page stapy(1)."""
    rows = [f".TP\n.B {_text(one.names())}\n{_text(one.help)}\n" for one in TABLE]
    tools = [f".TP\n.B {name}\n{_text(text)}\n" for name, text in TOOLS.items()]
    rows = [*tools, ".SH OPTIONS\n", *rows]
    return _HEAD + '.TH STAPY 1 "" "stapy"\n' + _STAPY + "".join(rows) + _STAPY_END


def run_page() -> str:
    """Write the page stapy-run(8)."""
    usage, rows, signals = USAGE.strip().split("\n\n")
    options = ""
    for line in rows.splitlines():
        name, text = line[2:14].strip(), line[14:].strip()
        if line.startswith("  --") and line[12:14].strip():  # longer than its column
            name, text = line.strip(), ""
        options += (f".TP\n.B {_text(name)}\n" if name else "") + (
            _text(text) + "\n" if text else ""
        )
    usage = _text(usage.replace("Usage: ", "       ").replace("   or: ", "       "))
    page = _RUN.format(usage=usage, options=options, signals=_text(signals))
    return _HEAD + '.TH STAPY\\-RUN 8 "" "stapy"\n' + page


def merge_page() -> str:
    """Write the page stapy-merge(1)."""
    _, rows, files = merge.USAGE.strip().split("\n\n")
    options = ""
    for line in rows.splitlines():
        name, text = line[2:14].strip(), line[14:].strip()
        options += (f".TP\n.B {_text(name)}\n" if name else "") + _text(text) + "\n"
    page = _MERGE.format(options=options, files=_text(files))
    return _HEAD + '.TH STAPY\\-MERGE 1 "" "stapy"\n' + page


PAGES = {"stapy.1": stapy_page, "stapy-merge.1": merge_page, "stapy-run.8": run_page}

if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m stapy.tools.manual", description=__doc__)
    parser.add_argument("page", choices=PAGES)
    sys.stdout.write(PAGES[parser.parse_args().page]())
