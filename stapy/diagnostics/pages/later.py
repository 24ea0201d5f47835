"""E03xx types, E04xx build, E05xx run, W06xx warnings."""

PAGES: dict[str, str] = {
    "E0301": """Types do not fit
A variable is a number, a string or a statistic, and stays it. The message names both types and
marks the place where the first one was seen.""",
    "E0302": """Wrong bit shift of @variance
The shift is a number literal, and the same wherever the variable is used.""",
    "E0303": """A histogram cannot be mixed
Print it with print() or println(), alone.""",
    "E0304": """The function returns nothing
It has no `return value`, so it cannot be part of an expression.""",
    "E0305": """The type is not known
Nothing says whether the name is a number or a string: it never gets a value. Assign one, or
annotate the parameter (`name:long`).""",
    "E0306": """Wrong histogram
@hist_linear takes three numbers (low, high, step): the step is positive, and there are 125 buckets
at most unless -D STP_MAX_BUCKETS allows more. One statistic has one kind of histogram; fill a
second statistic for another one.""",
    "E0401": """Kernel headers are missing
A module is compiled against the headers of its kernel. Install the package that the hint names.""",
    "E0402": """A program is missing
The kernel's build needs it. Install the package that the hint names.""",
    "E0403": """The kernel's build system failed
The notes show what it said. A header package that is half installed is a frequent reason.""",
    "E0404": """Error in embedded C
The C compiler refused text between `%{` and `%}`. The place is in your script.""",
    "E0405": """A kernel that stapy does not know
A name or a type that the runtime needs has changed in this kernel. docs/wall.md
shows which kernels were tried, and what works there.  Please report the kernel's release; an older
kernel works meanwhile.""",
    "E0406": """Our mistake in the generated C
The C made from the script does not compile. Please report it with the script; -k keeps the
folder with the C.""",
    "E0407": """A function that modules may not call
The kernel does not export it, or only to modules that are signed or licensed in a certain way.""",
    "E0408": """The container cannot be used
--build-in names an image in which the module is to be made. The message says what is missing:
the image (--prepare makes one; nothing is fetched without it), a daemon of docker or podman, the
Python package docker, or a suite of Debian that has the kernel's compiler.""",
    "E0409": """The module cannot be signed
--sign-module signs by the program sign-file of the kernel's headers, with a private key in PEM and
its certificate, which lies beside it or in the same file.  Without a file it is a key of your own,
made by openssl when it is wanted first.  The message says what is missing; docs/signing.md tells
where keys lie and how a kernel learns of them.""",
    "E0480": """Not a kernel's build tree
The folder given with -r has no include/config/kernel.release.""",
    "E0481": """The kernel is not installed
No headers and no image of this release were found: on this machine, or in the file tree that
--sysroot names. Install them, let `stapy kernel fetch` unpack them (-s takes another suite of
Debian), or choose a release with -r. docs/wall.md has the kernels that were tried.""",
    "E0482": """Not a runtime of stapy
-R DIR and $SYSTEMTAP_RUNTIME name a folder with the C that modules are made of. It must be
stapy's (the folder `runtime`, perhaps changed by you); SystemTap's cannot take its place.""",
    "E0483": """The kernel is for another architecture
-a (or -B ARCH=) and the kernel of -r must agree. The kernel's configuration tells what it is for:
-r RELEASE alone makes modules for another architecture; of a line such as 6.1, -a chooses.""",
    "E0490": """A file cannot be written
The message names the file and the reason.""",
    "E0491": """The folder of --tmpdir is not yours alone
The module is compiled in that folder.  Who can write to it could exchange its source and so run
code in the kernel: take a folder that belongs to you and that nobody else may write to.""",
    "E0501": """This host cannot load modules
Loading needs root and a kernel that permits it. `stapy --vm` runs the script in a throw-away
virtual machine instead.""",
    "E0502": """The command or the output file cannot be used
The program of -c was not found or may not be run, or the file of -o cannot be written. Both are
looked at before the script is translated; with --vm they are looked for in the machine.""",
    "E0503": """The name of the module is taken
Something else in the kernel has the name of -m: a module that stapy did not make, or a part of the
kernel itself.  Modules of others are never removed; take another name.""",
    "E0504": """The name spaces of a process cannot be used
The process of --target-namespaces must live, and its files must be ours to look at: root may look
at those of all, others at those of their own processes.  In a virtual machine it would be another
process: make the module with -p4 and run it there with stapy-run -N PID.  A module is run for the
process that it was made for; when that has ended, -N names another.""",
    "E0505": """The picture of --plot could not be drawn
The session has ended, and what it printed is there.  The message says why there is no picture:
nothing that could be drawn was gathered (docs/plot.md tells what can be), or the file could not be
written.  What was recorded is kept in the latter case: `stapy plot` draws it into another file.""",
    "W0505": """Not all of it is in the picture of --plot
The message says what is missing.""",
    "E0510": """A host of --remote has failed
The message names the host by its number, as --remote-prefix has it, and by the word of the command
line, and says why: ssh could not reach it, it has no python3 or no right to load modules, its
kernel takes none or signed ones only, there is no module for its kernel, stapy-run failed there, or
the connection broke.  The other hosts go on; the exit status is 1.  `ssh HOST` by hand shows the
same reason, and asks about the key of a host that is unknown and for a password, for which stapy
needs a terminal; docs/reach.md tells what a host needs.""",
    "E0590": """The virtual machine cannot be used
The message says what is missing: usually QEMU, or a kernel image with its modules.""",
    "W0602": """An assignment was dropped
The value is never read. Option -u keeps such code.""",
    "W0603": """A global that never gets a value
It is read but never written, so it is always 0 or "". A misspelt name?""",
    "W0604": """An expression without effect was dropped
Its value is not used and it changes nothing.""",
    "W0605": """A function without effect
It returns nothing and changes nothing, so its calls can be dropped.""",
    "W0606": """A probe without effect was dropped
Nothing is left of its handler. Option -u keeps it.""",
    "W0607": """A local variable that never gets a value
It is read but never written, so it is always 0 or "". A misspelt name?""",
    "W0608": """A function that no call reaches
Of several functions with one name and one number of arguments the first is called, or the one with
the lowest priority; the others have their turn when it says `next`. The first one never does.""",
    "W0616": """A probe point that is never hit
The tapset has the name so that old scripts run, but kernels of today do not go there: the point
stands for `never`. --doc tells which name has taken its place.""",
    "W0617": """A comparison with one result
A name of a task has 15 characters at most, so it never equals a longer text: compare with the first
15. Paths and other texts of system calls are in double quotes, which belong to the text: `filename`
is `"/etc/passwd"` with them, `filename_unquoted` without. Where a variable has no such twin, write
the quotes (`path == "\\"/etc/passwd\\""`, `path =~ "^\\"/etc"`,
`path =~ "[.]log\\"$"`).""",
    "W0618": """A module with the name of another one
The kernel loads one module of a name. While the script's is loaded, the kernel's own of that name
is refused, whoever needs it, and the other way round.""",
    "W0609": """More watched places than debug registers
The hardware watches four places, whatever asks for them: what comes too late is not armed.""",
    "W0611": """A function that nobody calls was dropped
It was checked all the same. Option -u keeps it.""",
    "W0612": """A global that nobody uses was dropped
No probe and no function that runs reads or writes it.""",
    "W0613": """A mistake in code that was dropped
Its value is not used, its condition is never true, or nobody calls it: the script runs without it.
Option -u keeps such code and makes this an error, and so does -W.""",
    "W0615": """Snapshots of a large array are not sorted
While an array is sorted, everything else that wants it waits, with interrupts off, and what waits
for longer than a millisecond gives up. So --snapshots has elements of an array with room for more
than 4096 in the order in which they came; the end of the session tells all of them. Give the array
the size that it needs: `global NAME[SIZE]`.""",
    "W0614": """-G names nothing
Neither the script nor what it uses of the library has a global variable of this name: the value is
left out.""",
    "W0640": """Something in the script has no effect here
The message says what, and why it is ignored.""",
    "W0641": """A variable of the entry in a return probe
`$x` in a .return probe is the value at entry of the function. Write `@entry($x)` to say so.""",
    "W0642": """Copies of functions were left out
Of a function that the compiler changed (f.isra.0, f.constprop.0) only the debug package knows the
parameters. A wildcard takes it in as long as the script does not read them. Told with -v.""",
    "W0643": """A parameter that may be another function's
Several functions have this name, and the kernel's type information does not say which of them it
describes. What is read may be nonsense for the one that is probed. The debug package tells them
apart; without it, compare with the source, or use pointer_arg() and its sisters.""",
    "W0650": """A macro hides an operator
Below the definition the operator of this name cannot be used.""",
    "W0651": """A macro hides one of the library
In this script your definition is used; tapset files still use theirs.""",
    "W0652": """An unused script argument
No script asks for it. Is a word on the command line too many?""",
    "W0653": """An option that has no effect here
All was done that the option asks for, or there is nothing here that it could change: SystemTap
has it for parts that stapy does not have; or it was given once more with another value, and the
last one counts, as in SystemTap. The message says which. -w is quiet about it.""",
    "W0654": """A limit of the process could not be set
--rlimit-NAME sets limits of stapy and of the programs that it starts. Only root may raise a limit
above its hard value (`ulimit -H -a`). The session goes on without.""",
    "W0655": """A macro of -D that looks like a limit
-D NAME=VALUE changes a limit, or defines a macro for C in the script. This name is neither a limit
nor far from one; the limit that was meant keeps its default.""",
    "W0656": """A test for the version of SystemTap
With --check-version, each `%( systemtap_v … %? … %)` of the script is told: what it does may
change with --compatible. stapy speaks the language of SystemTap 5.6.""",
    "W0658": """A folder of -I that has nothing
It does not exist, or you may not read it; the script goes on with the tapsets that there are.""",
    "W0681": """-d names nothing
The option takes a module of the kernel or the path of a program for
the kernel's machine. Wildcards are allowed.""",
    "W0682": """Headers do not compile
@cast(p, "type", "kernel<linux/fs.h>") compiles the headers to learn their types. With kernel in
front they are the kernel's, whose headers must be installed; else the user's, by gcc.  For a kernel
without BTF the header that declares a tracepoint is compiled as well: without it, the point has no
variables.  stapy check does not run the makefiles of a build tree that is named by its path.""",
    "W0659": """One file for the modules of several kernels
The hosts of --remote have several kernels, and -m names one file: the module of the last kernel is
left there.  Each host got the one for its own.""",
    "W0660": """The cache folder is not used
Modules and code in the cache are loaded and run.  So a cache folder that belongs to another user,
or that others can write to, is not believed: that happens with "sudo -E" and with "su" that keeps
HOME.  The cache in your own home (root's, under sudo) is used instead, or a private one in /tmp.
Say "sudo" without -E, or set SYSTEMTAP_DIR, or take other users' right to write (chmod go-w).""",
    "W0661": """Others can change the kernel's build tree
Modules are made by the programs and rules in the build tree of the kernel, with your rights: who
can change it can do what you can.  A tree that is named by -r is taken without a word.""",
    "W0689": """A script that stands for a program of its name
Managers of versions (pyenv, rbenv, asdf) put scripts into $PATH that have the names of programs
and start one of several. A script means the program that runs it, here a shell, and so all other
scripts of that shell; what it starts is another program, to be named by its path.""",
    "W0690": """A function that is chosen when a program is loaded
The C library has several versions of functions such as memcpy() and strlen(), and takes the one
that suits the processor. The symbol of that name is the code that chooses: it runs once for each
program that uses the function. What it may choose is probed in its place, as far as the kernel puts
breakpoints there, and is hit by calls of other names that it has: memmove() is memcpy(). Where the
code cannot be followed, it is probed itself, and is hit when it chooses.""",
    "W0691": """The kernel puts no breakpoint on an instruction
It must be able to execute the instruction elsewhere, and refuses some: those with "lock", "notrack"
and other prefixes of segments, some vector instructions, traps and ports. Others, of vectors, it
takes for what they are not. Functions that begin with one are left out of patterns.""",
    "W0692": """Exceptions that pass a return probe end the program
A return probe replaces the return address on the stack. What throws a C++ exception, or panics in
Rust, finds its way by these addresses: at the probed function it ends, and the program with it.
Functions that no exception leaves, and entries, are safe.""",
    "W0693": """A program is not here when the module is made
Begin, end and system calls of a program (`process("PATH").begin`) are known by the file that
processes run. The module can be made without it, and is not started where it is missing still.""",
    "W0694": """A variable that is watched in part
Debug registers watch 1, 2, 4 or 8 bytes. With `.length(N)` the script says that it knows.""",
    "W0695": """Builds that only a server knows
`debuginfod.process("PATH")` asks the servers of DEBUGINFOD_URLS which builds of a path there are,
and means those whose file is on this machine. What is left out is told: builds that are not, and
servers that did not answer, or not with all that they know.""",
    "W0696": """The handler of a counter
`.counter("name")` only counts: `@perf("name")` reads it in other probes. Nothing is hit, so what
stands in its braces never runs.""",
    "W0697": """Many probes in every process
A library is probed in whatever process maps it: those that are there and those that come. Each
place is armed in each of them, which takes seconds for a whole C library, and gives each a copy of
the pages that breakpoints are in. `-c` and `-x` mean a target and what it forks,
`process("PROGRAM").library("LIBRARY")` the processes of a program.""",
    "W0698": """Names of another process
usymname(), print_usyms() and their like ask the mappings of the process that runs what an address
means. An `end` probe runs in the process that reads the output, a timer's in whichever is
interrupted: addresses that a global has kept are of another one, and get no names there, or wrong
ones. In `process.end` the mappings are gone already. Keep the names, looked up where the stack is:
`a[sprint_ubacktrace()] <<< 1`; or keep sprint_ubacktrace_buildid(), which means the same
everywhere.""",
    "W0688": """Output of the command between records
As with SystemTap, the command of -c writes to our standard output, where the lines of --format go
as well: a reader such as jq stops at the first line that is none. -o FILE has the records alone in
FILE. In the command, `>&2` or `>/dev/null` sends away what it prints, and `cmd | …` of a shell may
take it. Where standard output is a terminal nothing is said.""",
    "W0699": """The command runs another program
Points of programs are of files: those that $PATH, or a pattern of the library, has found. A machine
may have several of a name, such as a Python of the distribution and one of pyenv, whose command is
a script that starts a third. Where -c starts, or -x means, one that has the name of the probed
ones and is none of them, its points are not hit unless a script starts those too. Start the probed
one by its path, or probe the one that is started: process("PATH"). One that has no marks has no
points of python, ruby, php or hotspot: `stapy -L 'process("PATH").mark("*")'` tells.""",
    "W0663": """Others can read a key
Whoever has the private key can sign modules for all kernels that know it.  Keep it in a file that
only its owner may read (chmod 600), best on a machine that traces nothing.""",
    "W0680": """Debug information was left out
A file could not be used, so types or functions that only it knows are missing.""",
}
