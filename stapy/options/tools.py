"""First words of a command line that are no script, but programs of their own."""

from __future__ import annotations

# Modules of `stapy.tools`.
TOOLS = {
    "dtrace": "make a header or object of marks for a program",
    "doctor": "say what scripts need on this machine, and what is missing",
    "report": "pack what a report of a fault should have",
    "fmt": "put the blanks and indents of scripts in order",
    "check": "find the mistakes of scripts, for any kernel",
    "test": "run scripts, here or in virtual machines, and compare what they print",
    "kernel": "fetch kernels to build for and to boot, without installing them",
    "plot": "draw what a session recorded: flame graphs, heat maps, time series, bars",
    "pack": "write stapy-run as one file, for machines that have only Python",
    "complete": "have bash, zsh or fish complete what is typed",
}
# Those that builds of other programs call, whose folders have files of that name.
ALWAYS_TOOLS = ("dtrace",)
# Programs that are called apart: stapy-run, stapy-merge.
APART = ("run", "merge")
