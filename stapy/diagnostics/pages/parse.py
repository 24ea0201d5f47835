"""E01xx: the text cannot be read as a script."""

PAGES: dict[str, str] = {
    "E0100": """The script is empty
Nothing is left to run: the text holds only white space and comments, or the side of each
conditional that was taken is empty. Write at least one probe.""",
    "E0101": """A string has no closing quote
A string ends on the line on which it begins. Close it with a double quote; for a line break
inside write \\n, and for a double quote inside write \\".""",
    "E0102": """C code has no end
`%{` begins C code that goes up to the next `%}`, across lines. No `%}` was found.""",
    "E0103": """A comment has no end
`/*` begins a comment that goes up to the next `*/`. Comments do not nest.""",
    "E0104": """Not a number
Numbers are decimal (10), octal (012) or hexadecimal (0xa) and have at most 64 bits. Letters
cannot be glued to a number, and there are no fractions.""",
    "E0105": """Unexpected word
The script does not go on as the language demands. The message says what could stand at the
marked place and what was found. Frequent reasons: a forgotten bracket (its opening one is
marked too), a misspelt keyword, a reserved word used as a name. After such a mistake the rest of
the statement is skipped and parsing goes on, so later messages are about other mistakes.""",
    "E0106": """No such script argument
`$1`, `@2` … stand for the arguments after the script's name: `$1` as it is, `@1` as a string.
The number is larger than the count of arguments given. Use `%( $# >= 2 %? … %)` around text
that needs an argument which may be missing.""",
    "E0107": """An argument that contains an argument
The text of a script argument is inserted as it is, and must not contain `$1` or `@1` itself.""",
    "E0108": """Wrong conversion in a format
A `%` in the format of printf or sprintf must begin a conversion: flags (- + space # 0), width,
precision, then one of b c d i m M n o p s u x X. `%b` takes a width of 1, 2, 4 or 8.
Write `%%` to print a percent sign.""",
    "E0109": """Something that is no declaration
Between declarations only `probe`, `global`, `private`, `function` and, with -g, `%{` can begin
something. Statements belong into the braces of a probe or a function. A brace too many also
leads here.""",
    "E0110": """Part of a conditional without its beginning
`%?`, `%:` and `%)` belong to a conditional `%( condition %? then %: else %)` whose `%(` is
missing here.""",
    "E0111": """The condition cannot be read
A condition compares one of kernel_v, kernel_vr, systemtap_v, arch, runtime,
systemtap_privilege, guru_mode, CONFIG_…, an argument or a literal with a literal, for example
`%( kernel_v >= "6.1" && arch == "x86_64" %? … %)`. There are no parentheses.""",
    "E0112": """Wrong comparison in a condition
Versions and numbers can be compared with == != < <= > >=, other texts with == and != only.
A pattern with wildcards has no order.""",
    "E0113": """Wrong right side in a condition
Versions, arch, runtime and systemtap_privilege are compared with a string; guru_mode with 0 or
1; CONFIG_… with a string, a number or another CONFIG_…; a literal with one of its own kind.""",
    "E0114": """A conditional without %?
After the condition `%?` must follow: `%( condition %? then %: else %)`.""",
    "E0115": """A conditional without end
A `%(` has no matching `%)` in this file.""",
    "E0116": """Two else sides
A conditional can have one `%:`. Nest conditionals for more than two cases.""",
    "E0120": """A name is missing
`@define` wants the macro's name, then optional parameters, then the body:
`@define name(a, b) %( @a + @b %)`.""",
    "E0121": """@define cannot be redefined
The name `define` is taken; choose another one.""",
    "E0122": """The definition of a macro is incomplete
Parameters are separated by commas and end with `)`; the body stands between `%(` and `%)`.""",
    "E0123": """The body of a macro has no end
The `%)` that closes the body is missing. Conditionals inside a body need their own `%)`.""",
    "E0124": """A macro defined twice
In one file a macro can be defined once. Two definitions may stand on the two sides of a
conditional.""",
    "E0125": """A macro used without its parameters
The macro was defined with parameters, so `(` must follow its name.""",
    "E0126": """Wrong number of parameters for a macro
Parameters are separated by commas; commas inside parentheses or brackets do not count.""",
    "E0127": """The parameters of a macro have no end
The closing parenthesis of this use is missing.""",
    "E0128": """A macro that expands to itself
The body uses the macro again, directly or through others, so its expansion would never end.""",
    "E0129": """Unknown operator or macro
A word with @ in front is an operator of the language (such as @count or @cast), a macro of this
script or a macro of the tapset library. This one is none of them.""",
    "E0130": """C code needs guru mode
Text between `%{` and `%}` is compiled into the kernel as it is and can do any harm. It is
allowed in the tapset library, and in scripts with -g.""",
    "E0131": """This operator needs guru mode
It reads registers or raw memory, or inserts C text, without any check of types. It is allowed
in the tapset library, and in scripts with -g.""",
    "E0142": """The address of an address
`&` can stand once in front of a target variable or a cast.""",
    "E0143": """Too many dollars at the end
`$x$` shows a structure one level deep, `$x$$` two levels. There is no third.""",
    "E0144": """Not in this version of the language
The script runs with --compatible set to a version in which only target variables and @cast()
could be dereferenced. Use `@cast(value, "type")->member`.""",
    "E0145": """Nothing can follow pretty printing
`$x->y$` is a string that shows the whole structure; it has no members.""",
    "E0146": """Two sort marks
A foreach loop is sorted by one thing: one key, the value, the array, or a statistic.""",
    "E0147": """Nested too deeply
A script may have a thousand expressions and statements inside each other, and two hundred
conditionals or macros. A sum of n terms counts as n levels. Give a part of it to a variable or to
a function.""",
    "E0148": """return outside a function
A probe's handler has no caller. Use `next` to leave it.""",
    "E0151": """A histogram is not a value
`@hist_log(x)` can be printed (as the only argument), asked for one bucket with `[n]`, and gone
over with foreach and `in`.""",
    "E0152": """Wrong size of an array
The size is the largest number of elements, from 1 to 2147483647.""",
    "E0153": """An array cannot be initialised
Only scalars can get a value where they are declared. Assign elements in `probe begin`.""",
    "E0154": """A global declared twice
Each name can be declared once per file.""",
    "E0155": """Wrong priority of a function
The number after the colon orders functions of one name; the smallest is tried first. It is 1 or
larger.""",
    "E0156": """Two parameters of one name
Each parameter of a function needs a name of its own.""",
    "E0160": """A mark inside braces
In `a.{b,c}.d` the marks `?`, `!` and conditions belong behind the last component.""",
    "E0161": """Too many probe points
Each pair of braces multiplies the number of points. Write fewer alternatives, or a wildcard.""",
    "E0162": """An alias has one name
Before `=` or `+=` exactly one name can stand. Define further aliases in terms of the first.""",
    "E0163": """A mark behind the name of an alias
`?`, `!` and conditions belong to the use of an alias, not to its name.""",
    "E0164": """A wildcard in the name of an alias
Wildcards select among existing names; a new name has none.""",
    "E0165": """Two blocks with +=
`probe a += b { }` adds its block behind the user's. For a block before and a block behind write
`probe a = b { before }, { behind }`.""",
    "E0170": """A macro file with other text
Files that end in .stpm hold definitions of macros (`@define …`) and conditionals only.""",
    "E0171": """A table of the library cannot be used
The library's table of system calls has a line that breaks its own rules. When you did not
change the table, this is our mistake; please report it.""",
    "E0190": """The script cannot be read
The file does not exist or may not be read. `-` stands for standard input; a script on the
command line needs -e.""",
    "E0191": """No such example
--example takes the name of a tool of the gallery, which `stapy --example` lists, or of one of the
scripts that come with SystemTap, where these are installed (on Debian by the package
systemtap-doc).""",
    "E0195": """No page of that name
--doc has pages for the functions, macros and probe aliases of the tapsets, those of -I among them,
and for the kinds of probe points: `stapy --doc execname`, `stapy --doc vfs.read`, `stapy --doc
timer`, `stapy --doc 'kernel.function("vfs_read")'`. A pattern lists names: `stapy --doc '*stack*'`.
Functions of the kernel are no names of the language: stapy -l 'kernel.function("NAME")' finds
them.""",
    "E0196": """A compiled file is no script
stapy translates scripts. `stapy-run NAME.ko` runs a module that was made before; a program is named
in a script by `process("PATH")`, or run while the script does by -c.""",
    "E0192": """A script for another tracer
bpftrace, DTrace, perf and ftrace name probes by words with colons. Here a script is a list of
`probe POINT { … }`: kprobe:f is kernel.function("f"), syscall::read:entry is syscall.read,
tracepoint:a:b is kernel.trace("a:b"), interval:s:1 is timer.s(1), BEGIN is begin. Variables are
plain names, those of all probes declared by `global`; pid, comm and their like are functions:
pid(), execname(). `x <<< value` adds to a statistic, @count(x) and @hist_log(x) read it.""",
    "E0193": """Options of a script's first line
`stapy check` takes the options behind `#! /usr/bin/stap` as the kernel would hand them on when the
script is started by its name. The message says which one cannot be used.""",
    "E0194": """Text of two or four bytes a letter
Scripts are read as UTF-8, of which ASCII is a part. Editors of other systems save in UTF-16:
`iconv -f UTF-16LE -t UTF-8` converts such a file. A byte order mark in front of UTF-8 is skipped,
and lines may end in LF, in CR and LF, or in CR alone.""",
}
