"""What a module and the `stapy-run` that meets it must agree on."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, TypedDict

    class ScriptText(TypedDict, total=False):
        """The script that a module was made of."""

        name: str
        text: str

    class ProbeRow(TypedDict, total=False):
        """A probe: what the script says, the points that this means, where it stands."""

        written: str
        points: "List[str]"
        place: str

    class ProgramFile(TypedDict, total=False):
        """A program that points name; ``identity`` tells the build whose places were found."""

        optional: bool  # only optional points name it
        identity: str

    class TableDemand(TypedDict, total=False):
        """Which tables user stacks need: names, lines, files at once, the libraries of all."""

        names: bool
        lines: bool
        files: "List[str]"
        closure: bool

    class ProcessIdentity(TypedDict, total=False):
        """What tells a process from another one of its number; see ``stapy/run/inside.py``."""

        name: str
        start: int  # ticks of the clock after the boot
        boot: str
        mnt: int  # inodes of its name spaces
        pid: int
        user: int

    class Manifest(TypedDict, total=False):
        """What a module tells of itself, as JSON has it; a foreign module tells nothing."""

        format: int
        protocol: int
        stapy: str
        name: str
        script: ScriptText
        release: str
        arch: str
        probes: "List[ProbeRow]"
        limits: "Dict[str, int]"
        build_ids: "Dict[str, str]"
        globals: "Dict[str, str]"
        files: "Dict[str, ProgramFile]"
        objects: TableDemand
        input: str
        any_release: bool
        namespaces: int
        process: ProcessIdentity
        privilege: str  # the level that it was translated for; absent: stapdev

    # Of a histogram: ["log"], or ["linear", least, greatest, step].
    Shape = List[Any]

    class FieldDescription(TypedDict, total=False):
        """A field of a print: its name, and how it is sent."""

        name: str
        kind: str
        constant: bool  # a text of the script: a part of a heading, or a label
        shape: Shape

    class PrintDescription(TypedDict, total=False):
        """A print of the script, or the one of an element of the global that it shows."""

        fields: "List[FieldDescription]"
        shows: str
        snapshot: bool  # it comes before the end of the session
        place: str


# The ELF section with what stapy wrote into a module.
SECTION = ".stapy.manifest"

# The language of a loaded module and its consumer: messages and commands of `control`, records of
# `output`, answers of `ioctl`.  It is one more with each change of any of them: a module is kept
# and run later, elsewhere, by a stapy-run of another age.
PROTOCOL = 4

# The form of the table that says what the prints of a module made with --format tell.
SCHEMA = 1

SNAPSHOT_ELEMENTS = 100  # of an array, which a snapshot has at most
