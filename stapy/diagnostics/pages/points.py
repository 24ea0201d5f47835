"""E02xx: names and probe points."""

PAGES: dict[str, str] = {
    "E0201": """Unknown function
No script and no tapset file defines a function of this name. The hint lists similar names;
`stapy --dump-functions` lists all.""",
    "E0202": """An array that was not declared
Arrays are global: declare it with `global name` outside the probes.""",
    "E0203": """A statistic that was not declared
A variable that `<<<` adds to must be global: declare it with `global name`.""",
    "E0204": """A global declared twice
Two files declare the same global. Rename one, or declare it `private`.""",
    "E0205": """Wrong number of keys
All uses of one array have the same number of keys, nine at most. A histogram has one: the
bucket.""",
    "E0206": """Wrong number of arguments
No function of this name takes as many arguments. The message says how many it takes.""",
    "E0212": """A number in a probe point is out of range
Timers, priorities and .maxactive() have limits, which the message names.""",
    "E0214": """This probe point needs guru mode
A probe at a raw address can hit the middle of an instruction. Run with -g when you are sure.""",
    "E0215": """This operator needs guru mode
It reads registers or memory without any check of types. Run with -g.""",
    "E0216": """Changing the kernel needs guru mode
Assigning to a target variable writes into the running kernel. Run with -g.""",
    "E0217": """This function is for guru mode
The function can crash the system or change what the kernel does, such as panic(), raise() or
set_kernel_long(). A script may call it with option -g (guru mode) only. Tapsets may call such
functions, because they are presumed to do so safely.""",
    "E0218": """This C is not for unprivileged users
--privilege=stapusr (or --unprivileged) allows functions in C only when they are marked
/* unprivileged */ or /* myproc-unprivileged */: they tell a user nothing that is not his to know.
stapsys and stapdev allow all functions.""",
    "E0219": """This probe point is not for unprivileged users
--privilege=stapusr (or --unprivileged) allows begin, end, error and never probes and timers.
Everything else shows what the kernel or other users do. stapsys and stapdev allow all points.""",
    "E0230": """No such probe point
No kind of probe and no alias begins like this, or it does not go on like this.
`stapy --dump-probe-types` shows how points can be written, `stapy --dump-probe-aliases` the names
of the library, `stapy -l 'tcp.**'` those of both that begin so and need no argument.""",
    "E0231": """No probe point matches
The form exists, but nothing in this kernel, or in the program that `process(…)` names, fits the
name or pattern. The hint lists similar names. A stripped program has few names left: the message
says which package has the others. Add `?` behind the point when the script should run without
it.""",
    "E0232": """No such tracepoint
The kernel has no tracepoint of this name. `stapy -l 'kernel.trace("*")'` lists those it has;
those of modules are found when the module's types are installed.""",
    "E0233": """This probe point needs debug information
Source lines, statements, labels and inlined functions are known to DWARF only. Install the
debug package of the kernel or program (the hint names it), build a program of your own with `-g`,
or probe a whole function instead. Debug files are looked for in `/usr/lib/debug`, or in the
folders that `SYSTEMTAP_DEBUGINFO_PATH` lists instead.""",
    "E0234": """A place that cannot be watched
A debug register watches 1, 2, 4 or 8 bytes, which lie at a multiple of their number, or, with
`.execute`, the instruction that begins at an address; always at one address on all CPUs. For a
per-CPU variable find the address of one CPU's copy.""",
    "E0235": """An alias that stands for itself
Expanding the alias leads back to it, so it would never end.""",
    "E0236": """The suffix fits nowhere
`alias.suffix` passes the suffix to what the alias stands for. None of that takes it.""",
    "E0237": """Wrong condition of a probe point
The expression after `if` may use globals and operators only: no functions, no changes, no
target variables.""",
    "E0238": """No probes
Every point was optional and matched nothing, or nothing is left after unused code was dropped.""",
    "E0239": """Whose processes are meant has too many answers
The kernel side knows of each process to which of 32 sets it belongs: those that run a program that
process("PATH") names, or one of those that a pattern matches, one process by its number, all.  Sets
are shared by probes.  A pattern is one set in process("/usr/bin/*").begin and its kin, and a set
for each program where libraries or functions of them are probed.""",
    "E0240": """A target variable that cannot be found
The message's notes say where was looked.""",
    "E0241": """No such target variable
The probed place has no parameter or variable of this name. `stapy -L 'the.point'` lists those
that exist. Without debug information only parameters and the return value of a kernel function
are known. In programs variables need `-g` or the debug package; without, `pointer_arg(1)`,
`int_arg(2)`, … and `returnval()` are what callers pass and get. Marks have `$arg1`, `$arg2`, ….""",
    "E0242": """No such member
The structure has no member of this name. The hint lists similar ones.""",
    "E0243": """Wrong step
`->` needs a structure or a pointer to one, `[…]` an array or a pointer.""",
    "E0244": """Pretty printing ends a chain
`$` and `$$` behind a variable make a string of it; nothing can follow.""",
    "E0245": """No address, or no place to write to
Bit-fields, values in registers and computed values have no address. A variable can be changed
where a register or memory holds it at the probe; not where debug information tells how to work it
out, nor in a return probe (there it is a copy from the function's entry), nor as an argument of a
tracepoint. Whether the code behind the probe still reads the register is not looked at.""",
    "E0246": """A structure is not a value
Ask for a member with `->`, for the address with `&`, or print it with a `$` at its end.""",
    "E0247": """@entry outside a return probe
`@entry(x)` gives in a .return probe the value that x had when the function was entered.""",
    "E0248": """Unknown type or constant
No debug information in the named modules knows it. For a type of a kernel header write
`@cast(x, "type", "kernel<linux/file.h>")`.""",
    "E0249": """The C type is not known
A plain value can be dereferenced when stapy can see which C type it came from. Say it with
`@cast(value, "type")->member`.""",
    "E0250": """Not an array
Only global arrays and histograms can be indexed and searched with `in`.""",
    "E0251": """Sorting that is not possible
One thing can be sorted by; buckets of a histogram come in their order.""",
    "E0252": """break or continue outside a loop
They belong into while, for and foreach.""",
    "E0253": """return outside a function
Use `next` to leave a probe's handler.""",
    "E0254": """Not something that can be changed
On the left of an assignment, with ++, -- and delete only variables, elements of arrays and (with
-g) target variables can stand. To compare write `==`.""",
    "E0255": """A wildcard as a key
`a[*, 1]` means several elements. It can stand in delete, foreach and `in`.""",
    "E0256": """Wrong regular expression
The message gives the position and the reason. The syntax is that of POSIX extended regular
expressions; in a string a backslash is written twice.""",
    "E0257": """Wrong size or register number
Sizes are 1, 2, 4 or 8 bytes; registers are numbered as in DWARF.""",
    "E0258": """Wrong number of values to print
Each conversion of a format takes one value, each `*` one more; printd needs a delimiter and two
values; 32 values are the most.""",
    "E0259": """Wrong conversion in a format
The conversion does not exist. `%%` prints a percent sign.""",
    "E0260": """The array is changed while a loop goes over it
Collect the changes and apply them behind the loop. Deleting the whole array is a change, too.""",
    "E0261": """No such counter
`@perf("name")` reads what a probe of the script, `perf.type(…).config(…).counter("name")`,
counts.""",
    "E0262": """Two counters of one name
`@perf("name")` reads one counter. Two for the same threads, or one of processes beside one of the
processor, need two names; counters of different programs may share one.""",
    "E0263": """A file of a procfs probe that cannot be made
The path of `procfs("PATH")` is relative to /proc/systemtap/MODULE, its components are names without
wildcards, and each file has at most one probe that is read and one that is written (`__stdin`, on
which `input.char` and `input.line` stand, any number of the latter).""",
    "E0264": """$value of a procfs probe is text of one direction
In `procfs.read` it is set (`$value = …`, `$value .= …`), in `procfs.write` it is what was
written.""",
    "E0265": """Probes of this family are not made for this architecture
Modules for arm64 have all families but those of debug registers (`.data(…)`), which trap there
before the access and for ever where the handler is not the kernel's own.
docs/decisions/architectures.md says what they wait for.""",
    "E0290": """Unusable input from outside the script
The value of a -D option is no constant number or out of its range, or the debug information found
is damaged: the message says which. For damaged debug information install the package again, and
let go what was made of it: `stapy --clean-cache`.""",
    "E0292": """-G does not fit the script
`-G NAME=VALUE` sets a global number or string of the script when the module is loaded. Arrays and
statistics have no single value; a number may be decimal, hexadecimal or octal.""",
    "E0293": """No BTF in the file of a kernel
`stapy check --btf RELEASE=FILE` wants a copy of /sys/kernel/btf/vmlinux of that kernel, its vmlinuz
or its vmlinux. A kernel built without CONFIG_DEBUG_INFO_BTF has none.""",
    "E0294": """A macro of -D that would break the module
-D NAME is a macro for embedded C, or a limit. A word of C or of the kernel (`true`, `int`), or a
name that the C made from the script has itself, would change what is not the script's. The names
of limits have capital letters.""",
    "E0291": """A regular expression that is too large
The automaton for this expression would not fit. Split it.""",
}
