"""Random programs of the script language, each made from a seed alone.

A program is a set of globals and functions whose names end in its seed, and the statements of a
probe's handler: many can stand in one script.  What a program prints must not depend on anything
but the language: no clocks, no addresses, no counts of actions.

Left out because the two are known to differ (docs/differences.md): a `foreach` without a sort mark
over an array of statistics or one that another one has sorted, `limit` together with a slice,
@variance, statistics read behind `<<<`, two flags of a conversion, the flag 0 and a negative
precision of a text. What
is sorted by something that elements may have in common shows nothing but that.
"""

from __future__ import annotations

import random

NUMBERS = (
    *("0", "1", "2", "3", "5", "7", "10", "16", "63", "64", "100", "255", "1000", "65535"),
    *("0x7f", "0xff", "010", "0x80000000", "4294967295", "4294967296", "2147483647"),
    *("9223372036854775807", "0xffffffffffffffff", "0x8000000000000000", "123456789012"),
)
TEXTS = (
    *('""', '"a"', '"b"', '"abc"', '"abcabc"', '"Hello, world"', '" x "', '"12"', '"-7"', '"0x1f"'),
    *('"a,b;c"', '"\\tq\\n"', '"\\"q\\""', '"\\303\\244"', '"aab"', '"xyz"', '"%d"', '"b" "c"'),
    *(
        '"\\x41z"',
        '"\\1019"',
        '"\\a\\b\\v\\f\\r"',
        '"back\\\\slash"',
        '"9223372036854775808"',
        '" 010"',
    ),
    *('"\\001\\177"', '"a\\nb"', '"1,22,,333,"'),
)
REGEXES = (
    *("a", "b+", "^a", "c$", "^$", "a.c", "[a-c]+", "[^a]", "(a|b)(c?)", "x*", "(ab|abc)(c*)"),
    *("[[:digit:]]+", "l+o", "(.)b(.)", "a{2}", "(a)|(b)", "\\\\\\\\", "[[:space:]]", "w.*d$"),
)
LEAST = 3  # statements of a handler
MOST = 7
DEEPEST = 3  # of nested expressions


COUNTS = ("*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}")
SETS = (
    *("[ab]", "[^b]", "[a-c]", "[[:alpha:]]", "[[:digit:][:space:]]", "[^[:alnum:]]", "[]a]"),
    *("[^]a]", "[a-]", "[[:upper:]x]", "[[:punct:]]", "[,;]"),
)


class Writer:
    """One program while it is written."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.loops = 0
        self.in_loop = 0
        self.functions: list[str] = []
        self.texts: list[str] = []
        # Each array is gone through in one order only.
        self.order = {name: self._order(name) for name in "abce"}
        self.kinds = {name: self.histogram_kind() for name in "te"}
        self.size = self.random.choice((0, 0, 0, 3, 4))
        self.wrap = self.size and self.random.random() < 0.5

    # -- helpers

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self, letter: str) -> str:
        """Name a global of the program."""
        return f"{letter}{self.seed}"

    def _order(self, name: str) -> str:
        return self.random.choice(("+", "-") if name == "e" else ("", "+", "-"))

    # -- expressions

    def number(self, depth: int = 0) -> str:
        """Write an expression of type long."""
        if depth >= DEEPEST or self.chance(0.25):
            return self.leaf()
        kind = self.random.randrange(24)
        deeper = depth + 1
        if kind < 8:
            operator = self.pick(*"+-*&|^", "+", "-", "/", "%", "<<", ">>")
            right = self.number(deeper)
            if operator in ("<<", ">>"):
                right = f"({right} & 63)"
            elif operator in "/%" and self.chance(0.8):
                right = f"({right} | 1)"
            return f"({self.number(deeper)} {operator} {right})"
        if kind == 8:
            return f"({self.number(deeper)} {self.comparison()} {self.number(deeper)})"
        if kind == 9:
            # Never two literals: SystemTap compares those before their escapes are read.
            return f"({self.pick('s', 'u')} {self.comparison()} {self.text(deeper)})"
        if kind == 10:
            return f"({self.number(deeper)} {self.pick('&&', '||')} {self.number(deeper)})"
        if kind == 11:
            return f"({self.pick('-', '!', '~', '+')} {self.number(deeper)})"
        if kind == 12:
            return f"({self.number(deeper)} ? {self.number(deeper)} : {self.number(deeper)})"
        if kind == 13:
            return f"strlen({self.text(deeper)})"
        if kind == 14:
            return f"{self.pick('strpos', 'isinstr')}({self.text(deeper)}, {self.text(deeper)})"
        if kind == 15:
            return f"strtol({self.text(deeper)}, {self.pick('0', '8', '10', '16')})"
        if kind == 16:
            return self.element(deeper)
        if kind == 17:
            return f"({self.key(deeper)} in {self.name('a')})"
        if kind == 18:
            operator = self.pick("count", "sum", "min", "max", "avg")
            if self.chance(0.5):
                return f"@{operator}({self.name('t')})"
            return f"@{operator}({self.name('e')}[{self.key(deeper)}])"
        if kind == 19:
            return f'({self.text(deeper)} {self.pick("=~", "!~")} "{self.regex()}")'
        if kind == 20 and self.functions:
            return f"{self.pick(*self.functions)}({self.number(deeper)}, {self.text(deeper)})"
        if kind == 21:
            return self.pick(
                f"stringat({self.text(deeper)}, {self.pick('0', '1', 'i')})",
                f"([{self.key(deeper)}, {self.word()}] in {self.name('c')})",
                f"([{self.key(deeper)}] in {self.name('e')})",
                f"({self.word()} in {self.name('b')})",
                f"@m{self.seed}({self.number(deeper)}, {self.leaf()})",
                f"{self.kinds['t'].format(self.name('t'))}[{self.random.randrange(-3, 12)}]",
            )
        if kind == 22 and self.functions and self.chance(0.5):
            return f"r{self.seed}({self.number(deeper)} & 15)"
        return self.assignment(deeper)

    def regex(self, depth: int = 0) -> str:
        """Write a small regular expression for a string literal.

        SystemTap makes thousands of lines of C of some others, fails in an assertion where groups
        within groups are repeated, and takes no anchor behind its like.
        """
        if depth == 0 and self.chance(0.4):
            return self.pick(*REGEXES)
        if depth > 1 or self.chance(0.3):
            return self.pick("a", "b", "c", "l", ".", "x", *SETS, "\\\\.", " ", "1")
        deeper = depth + 1
        kind = self.random.randrange(6)
        if kind < 2:
            return "".join(self.regex(deeper) for _ in range(self.random.randrange(2, 4)))
        if kind == 2:
            return f"({self.regex(deeper)}|{self.regex(deeper)})"
        if kind == 3:
            return f"({self.regex(2)}){self.pick('', '', '?', '*', '+')}"
        if kind == 4:
            return self.pick("a", "b", ".", *SETS) + self.pick(*COUNTS)
        anchor = self.regex(deeper)
        if depth > 1:
            return f"({anchor})"
        return self.pick(f"^{anchor}", f"{anchor}$").replace("^^", "^").replace("$$", "$")

    def leaf(self) -> str:
        if self.chance(0.5):
            return self.pick("i", "j", "k", self.name("g"))
        number = self.pick(*NUMBERS)
        return f"-{number}" if self.chance(0.2) else number

    def comparison(self) -> str:
        return self.pick("<", "<=", ">", ">=", "==", "!=")

    def key(self, depth: int) -> str:
        """Write a number that arrays are indexed by: few values, so that some meet."""
        if self.chance(0.5):
            return str(self.random.randrange(-2, 6))
        return f"({self.number(depth)} % 5)" if self.chance(0.5) else self.pick("i", "j")

    def word(self) -> str:
        """Choose a string that arrays are indexed by."""
        return self.pick('"x"', '"y"', '""', '"abc"', "s", "u")

    def element(self, depth: int) -> str:
        return self.pick(
            f"{self.name('a')}[{self.key(depth)}]",
            f"{self.name('b')}[{self.word()}]",
            f"{self.name('c')}[{self.key(depth)}, {self.word()}]",
        )

    def assignment(self, depth: int) -> str:
        """Write an assignment as an expression."""
        target = self.pick("i", "j", "k", self.name("g"))
        if self.chance(0.5):
            return f"({self.pick(f'{target}++', f'++{target}', f'{target}--', f'--{target}')})"
        return f"({target} {self.pick('=', '+=', '-=', '^=', '|=')} {self.number(depth)})"

    def text(self, depth: int = 0) -> str:
        """Write an expression of type string."""
        if depth >= DEEPEST or self.chance(0.35):
            return self.pick("s", "u", self.pick(*TEXTS), self.pick(*TEXTS))
        deeper = depth + 1
        kind = self.random.randrange(15)
        if kind < 3:
            # Two literals and a third text: SystemTap folds them for ever.
            first = self.pick("s", "u", f"{self.name('d')}[{self.key(deeper)}]")
            return f"({first} . {self.text(deeper)})"
        if kind == 3:
            places = f"{self.random.randrange(-1, 6)}, {self.random.randrange(-1, 6)}"
            return f"substr({self.text(deeper)}, {places})"
        if kind == 4:
            texts = ", ".join(self.text(deeper) for _ in range(3))
            return f"str_replace({texts})"
        if kind == 5:
            return f"sprint({self.values(deeper)})"
        if kind == 6:
            return f'sprintd("{self.pick(",", "--", " ")}", {self.values(deeper, 2)})'
        if kind == 7:
            return f"({self.number(deeper)} ? {self.text(deeper)} : {self.text(deeper)})"
        if kind == 8 and self.texts:
            return f"{self.pick(*self.texts)}({self.text(deeper)}, {self.number(deeper)})"
        if kind == 9:
            return f"tokenize({self.text(deeper)}, {self.pick(*TEXTS)})"
        if kind == 10:
            return f"{self.name('d')}[{self.key(deeper)}]"
        if kind == 11:
            return f"{self.pick('text_str', 'string_quoted')}({self.text(deeper)})"
        if kind == 12:
            rest = f"{self.random.randrange(-1, 20)}, {self.pick('0', '1')}"
            return f"text_strn({self.text(deeper)}, {rest})"
        if kind == 13:
            return f"ctime({self.number(deeper)} & 0xffffffff)"
        return f"sprintf({self.format(deeper)})"

    def values(self, depth: int, least: int = 1) -> str:
        count = self.random.randrange(least, 4)
        return ", ".join(
            self.number(depth) if self.chance(0.6) else self.text(depth) for _ in range(count)
        )

    def format(self, depth: int) -> str:
        """Write a format and its arguments."""
        text, arguments = "", []
        for _ in range(self.random.randrange(1, 4)):
            text += self.pick("", " ", "<", "%%", ":", "\\n", "x=")
            directive = self.pick(*"dduxXoiscspsb")
            # SystemTap takes one flag; a zero before a text without a width ends it with a NUL.
            flags = self.pick("", "", "", *"-+ #", "" if directive == "s" else "0")
            width = precision = ""
            if directive == "b":
                flags, width = "", self.pick("", "1", "2", "4", "8")
            elif self.chance(0.4):
                width = str(self.random.randrange(1, 25))
                if self.chance(0.25):
                    width = "*"
                    arguments.append(self.pick("5", "12", "0", "-6", "i & 15"))
            if self.chance(0.3) and directive not in "cb":
                precision = f".{self.random.randrange(0, 20)}"
                if self.chance(0.25):
                    precision = ".*"
                    negative = "2" if directive == "s" else "-1"
                    arguments.append(self.pick("3", "0", "11", negative, "j & 7"))
            if directive == "s":
                value = self.text(depth)
            elif directive == "c":
                value = self.pick("65", "97", "48", "33", "(i & 31) + 64", "10", "i")
            else:
                value = self.number(depth)
            arguments.append(value)
            text += f"%{flags}{width}{precision}{directive}"
        return ", ".join([f'"{text}"', *arguments])

    # -- statements

    def block(self, depth: int, count: int) -> str:
        return " ".join(self.statement(depth) for _ in range(count))

    def statement(self, depth: int = 0) -> str:
        """Write a statement; those that hold others become rare with the depth."""
        kind = self.random.randrange(20 if depth < 2 else 11)
        if kind == 0:
            return self.show()
        if kind == 1:
            return f"printf({self.format(1)}); println()" if self.chance(0.8) else self.show()
        if kind == 2:
            operator = self.pick("=", "=", "+=", "-=", "*=", "^=", "&=", "|=", "<<=", ">>=", "%=")
            right = self.number(1)
            if operator in ("<<=", ">>="):
                right = f"({right}) & 31"
            elif operator == "%=":
                right = f"({right}) | 1"
            return f"{self.pick('i', 'j', 'k', self.name('g'))} {operator} {right};"
        if kind == 3:
            return f"{self.pick('s', 'u')} {self.pick('=', '=', '.=')} {self.text(1)};"
        if kind == 4:
            return f"{self.element(2)} {self.pick('=', '+=', '=', '^=')} {self.number(1)};"
        if kind == 5:
            return f"{self.element(2)}{self.pick('++', '--')};"
        if kind == 6:
            return f"{self.name('d')}[{self.key(2)}] {self.pick('=', '.=')} {self.text(1)};"
        if kind == 7:
            return f"{self.name('t')} <<< {self.sample()};"
        if kind == 8:
            return f"{self.name('e')}[{self.key(2)}] <<< {self.sample()};"
        if kind == 9:
            return self.delete()
        if kind == 10:
            return self.histogram()
        if kind == 11:
            other = f" else {{ {self.block(depth + 1, 1)} }}" if self.chance(0.5) else ""
            return f"if ({self.number(1)}) {{ {self.block(depth + 1, 2)} }}{other}"
        if kind in (12, 13):
            return self.loop(depth)
        if kind in (14, 15, 16):
            return self.foreach(depth)
        if kind == 17:
            risky = self.pick(
                f"i = {self.number(1)} / ({self.pick('j', 'k', '0', 'i % 3')});",
                f'error({self.text(1)}); println("not here");',
                f"i = stringat({self.text(1)}, {self.key(2)});",
                f"i = r{self.seed}({self.number(1)} & 15);",
                f"i = @avg({self.name('e')}[{self.key(2)}]); j = @min({self.name('t')});",
                f"for (k = 0; k < 9; k++) {self.name('a')}[k] = k;",
                f"i = 5; while (i-- > 0) s .= s; println(strlen(s)); i %= {self.number(2)};",
                f"if (!({self.number(1)} / {self.pick('j', 'k')})) {{ s = u }} else next;",
                self.block(depth + 1, 2),
            )
            caught = self.pick(
                '(m) { printdln(" ", "caught", m) }',
                '{ println("caught") }',
                "(m) { s = m }",
                '(m) { println(m); error("again " . m) }',
                "(m) { try { i = 1 % 0 } catch (n) { m .= n } println(m) }",
            )
            return f"try {{ {risky} {self.block(depth + 1, 1)} }} catch {caught}"
        if kind == 18:
            self.loops += 1
            at = f"q{self.loops}"
            shown = f'printf("%d<%s>\\n", {at}, matched({at}));'
            return (
                f'if ({self.text(1)} =~ "{self.regex()}") '
                f"for ({at} = 0; {at} < ngroups(); {at}++) {shown} "
                'else println("no match");'
            )
        return f"{{ {self.block(depth + 1, 2)} }}"

    def sample(self) -> str:
        """Write a value for a statistic: small most of the time."""
        if self.chance(0.8):
            return str(self.random.randrange(-20, 200))
        return self.leaf()  # SystemTap does not see @sum(t) behind <<<

    def show(self) -> str:
        kind = self.pick("print", "println", "printd", "printdln")
        if kind in ("printd", "printdln"):
            return f'{kind}("{self.pick(",", " ", "::")}", {self.values(1, 2)}); println()'
        return f"{kind}({self.values(1)}); println()"

    def delete(self) -> str:
        return self.pick(
            f"delete {self.name('a')}[{self.key(2)}];",
            f"delete {self.name('b')}[{self.word()}];",
            f"delete {self.name('c')}[{self.key(2)}, *];",
            f"delete {self.name('e')}[{self.key(2)}];",
            f"delete {self.name(self.pick(*'abcde'))};",
            f"delete {self.name('t')};",
        )

    def histogram(self) -> str:
        value = self.name("t")
        if self.chance(0.3):
            value = f"{self.name('e')}[{self.key(2)}]"
        kind = self.kinds[value[0]].format(value)
        head = f"if (@count({value})) "
        use = self.random.randrange(3)
        if use == 0:
            return f"{head}{self.pick('print({})', 's = sprint({})').format(kind)};"
        if use == 1:
            self.loops += 1
            at = f"h{self.loops}"
            return f'{head}foreach ({at} in {kind}) printf("%d:%d ", {at}, {kind}[{at}]); println()'
        self.loops += 1
        at, count = f"h{self.loops}", f"v{self.loops}"
        return (
            f'{head}foreach ({count} = {at} in {kind}) printf("%d=%d ", {at}, {count}); println()'
        )

    def histogram_kind(self) -> str:
        """Choose a histogram of something; a statistic can have one only."""
        if self.chance(0.5):
            return "@hist_log({})"
        low = self.random.choice((0, 0, -20, 10, 100))
        step = self.random.choice((1, 5, 10, 50))
        return f"@hist_linear({{}}, {low}, {low + step * self.random.randrange(2, 12)}, {step})"

    def loop(self, depth: int) -> str:
        """Write a loop of few rounds."""
        self.loops += 1
        count = f"n{self.loops}"
        self.in_loop += 1
        body = self.block(depth + 1, 2)
        jump = ""
        if self.chance(0.4):
            jump = f"if ({count} == {self.random.randrange(4)}) {self.pick('break', 'continue')};"
        self.in_loop -= 1
        rounds = self.random.randrange(1, 5)
        if self.chance(0.5):
            return f"for ({count} = 0; {count} < {rounds}; {count}++) {{ {jump} {body} }}"
        return f"{count} = 0; while ({count}++ < {rounds}) {{ {jump} {body} }}"

    def foreach(self, depth: int) -> str:
        """Write a loop over an array, which must not change meanwhile: it is only printed."""
        self.loops += 1
        key, more, value = f"x{self.loops}", f"y{self.loops}", f"z{self.loops}"
        limit = (
            f" limit {self.pick('0', '1', '2', '3', '(i & 3)', '-1')}" if self.chance(0.3) else ""
        )
        array = self.pick(*"abce")
        order = self.order[array]
        if order and self.chance(0.4):
            return self.by_value(array, limit)
        if array == "a":
            what = f"{key}{order} in {self.name('a')}"
            shown = f'printdln(",", {key}, {self.name("a")}[{key}])'
            if self.chance(0.4):
                what = f"{value} = {what}"
                shown = f'printdln("=", {key}, {value})'
        elif array == "b":
            what = f"{key}{order} in {self.name('b')}"
            shown = f'printdln(",", {key}, {self.name("b")}[{key}])'
        elif array == "c":
            mark = self.pick("+", "-") if order else ""
            what = f"[{key}{mark}, {more}] in {self.name('c')}"
            if self.chance(0.3):
                what += self.pick(
                    "[*, *]", f"[{self.key(2)}, *]", f"[*, {self.pick('s', chr(34) * 2)}]"
                )
                limit = ""
            shown = f'printdln(",", {key}, {more}, {self.name("c")}[{key}, {more}])'
            if mark:
                shown = f"println({key})"
        else:
            what = f"{key}{order} in {self.name('e')}"
            element = f"{self.name('e')}[{key}]"
            shown = f'printdln(",", {key}, @count({element}), @sum({element}), @avg({element}))'
        jump = self.pick("break;", "continue;") if self.chance(0.15) else ""
        if jump:
            jump = f"if ({self.number(2)}) {jump}"
        return f"foreach ({what}{limit}) {{ {jump} {shown} }}"

    def by_value(self, array: str, limit: str) -> str:
        """Write a loop over elements by value or statistic, which shows nothing else."""
        self.loops += 1
        key, more, value = f"x{self.loops}", f"y{self.loops}", f"z{self.loops}"
        name = self.name(array)
        keys = f"[{key}, {more}]" if array == "c" else key
        if array == "e":
            operator = self.pick("count", "sum", "min", "max", "avg")
            what = f"{keys} in {name} @{operator}{self.pick('+', '-')}"
            shown = f"@{operator}({name}[{key}])"
        elif array == "c" and self.chance(0.4):
            what, shown = f"[{key}, {more}{self.pick('+', '-')}] in {name}", more
        elif self.chance(0.5):
            what = f"{value} = {keys} in {name}{self.pick('+', '-')}"
            shown = value
        else:
            what = f"{keys} in {name}{self.pick('+', '-')}"
            shown = f"{name}[{key}, {more}]" if array == "c" else f"{name}[{key}]"
        return f"foreach ({what}{limit}) println({shown})"


class Program:
    """A program: its globals and functions, and the statements of its handler."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        writer = Writer(seed)
        size = f"[{writer.size}]" if writer.size else ""
        mark = "%" if writer.wrap else ""
        initial = f"global {writer.name('g')} = {writer.random.randrange(-3, 4)}"
        arrays = ", ".join(f"{writer.name(name)}{mark}{size}" for name in "abcd")
        parts = [f"{initial}\nglobal {arrays}\nglobal {writer.name('e')}, {writer.name('t')}"]
        parts.append(f"@define m{seed}(p, q) %( (@p {writer.pick('+', '*', '<')} (@q)) %)")
        parts.append(f"function r{seed}(n) {{ return n <= 0 ? 0 : r{seed}(n - 1) + 1 }}")
        number, text = f"f{seed}", f"w{seed}"
        first, second = writer.number(1), writer.block(1, 1)
        parts.append(
            f"function {number}:long (i:long, s:string)\n"
            f"{{ j = i; k = 3; u = s; {second} return {first} + i }}"
        )
        result, rest = writer.text(1), writer.block(1, 1)
        parts.append(
            f"function {text}:string (s:string, i)\n"
            f"{{ j = i + 1; k = j; u = s . s; {rest} "
            f"if (i > 0 && i < 4) return {text}(substr(s, 0, 9), i - 1) . {result}; return s }}"
        )
        writer.functions, writer.texts = [number], [text]
        self.declarations = "\n".join(parts)
        count = writer.random.randrange(LEAST, MOST)
        statements = [writer.statement() for _ in range(count)]
        start = (
            f"i = {seed % 7}; j = 2; k = -1; s = {writer.pick(*TEXTS)}; u = {writer.pick(*TEXTS)};"
        )
        # Something in each global, which also tells its type.
        keys = [writer.random.randrange(-2, 6) for _ in range(6)]
        filled = [
            f"{writer.name('a')}[{keys[0]}] = 3; {writer.name('a')}[{keys[1]}]++;",
            f'{writer.name("b")}["y"] = {keys[2]}; {writer.name("b")}["abc"] = 7;',
            f'{writer.name("c")}[{keys[3]}, "x"] = {keys[0]}; {writer.name("c")}[{keys[4]}, ""]--;',
            f'{writer.name("d")}[{keys[5]}] = "d";',
            f"{writer.name('e')}[{keys[2]}] <<< {keys[1]}; {writer.name('e')}[{keys[3]}] <<< 100;",
            f"{writer.name('t')} <<< {seed % 50}; {writer.name('t')} <<< {keys[0]};",
        ]
        start += "\n\t" + "\n\t".join(filled)
        end = f'printdln("|", i, j, k, s, u, {writer.name("g")})'
        self.body = "\n\t".join([start, *statements, end])


def script(programs: list[Program]) -> str:
    """Write one script of several programs, each in a handler of its own."""
    parts = [program.declarations for program in programs]
    for program in programs:
        body = f'println("=== {program.seed}")\n\t{program.body}'
        parts.append(f"probe begin({program.seed})\n{{\n\t{body}\n}}")
    parts.append('probe begin(9999999) { println("=== end"); exit() }')
    return "\n".join(parts) + "\n"
