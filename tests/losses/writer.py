"""Random loss files: every construct of the language, put together so that a value exists.

A ``risky`` writer leaves out the care: some of its files divide by zero, leave their bounds, look
back before the start, or find no arc.

Amounts are whole or binary fractions, so that doubles and fractions compare alike.
"""

import re

TAGS = ("O", "B-x", "I-x", "B-y")
LABEL_SETS = ((0, 1), (0, 1, 2), (0, 1, 2, 3), (-1, 4), (2, 5, 7))
LABEL_SETS += (tuple("ab"), tuple("abc"), tuple("pqrs"), TAGS[:2], TAGS[:3], TAGS)
COMPARE = ("==", "!=", "<", "<=", ">", ">=")
WHOLE = (
    "({a} + {b}) | ({a} - {b}) | (2 * {a}) | min({a}, {b}) | max({a}, {b}, 1) | abs({a} - {b})"
    " | ({a} % 3) | floor({a} / 2) | ceil({a} / 4) | (-{a}) | (if {c} then {a} else {b}) | ({a})^2"
)


class Writer:
    """Writes one file; ``random`` has the interface of ``random.Random``."""

    def __init__(self, random, labels, risky=False):
        self.random, self.labels, self.risky = random, labels, risky
        self.numeric = all(isinstance(x, int) for x in labels)
        self.tags = labels[0] == "O"
        self.inside = True  # within a step, where z, y and i can be read
        self.numbers = []  # registers and lets with a numeric value
        self.passing = []  # lets that read z, y or i
        self.registers = []  # names that `old` takes
        self.memories = []  # (name, depth, holds labels)
        self.alike = {}  # names of memories of the same depth and entries
        self.states = ()
        self.lets = 0
        self.pools = 0
        self.given = {}
        self.whole_params, self.real_params, self.tables = [], [], []

    # -- small things ----------------------------------------------------------------------------

    def often(self, probability):
        return self.random.random() < probability

    def pick(self, *makers):
        return self.random.choice(makers)()

    def small(self):
        return str(self.random.randint(0, 3))

    def one(self, templates, **parts):
        """One of the templates, written in a row with | between them, with its parts."""
        return self.random.choice(templates.split(" | ")).format(**parts)

    def compare(self):
        return self.random.choice(COMPARE)

    def tape(self):
        return self.random.choice("zy")

    def label(self):
        label = self.random.choice(self.labels)
        return str(label) if self.numeric and self.often(0.7) else f'"{label}"'

    # -- conditions ------------------------------------------------------------------------------

    def condition(self, depth=2):
        if depth and self.often(0.35):
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return self.one("({a} and {b}) | ({a} or {b}) | (not {a})", a=left, b=right)
        makers = [self.number_test, self.number_test]
        if self.inside:
            makers += [self.label_test, self.label_test, self.place_test]
        if self.memories:
            makers += [self.memory_test]
        if self.states:
            makers += [lambda: f"(at {self.random.choice(self.states)})"]
        return self.pick(*makers)

    def label_test(self):
        tests = ["(z == y)", "(z != y)", f"({self.tape()} == {self.label()})"]
        if self.numeric:
            tests += [f"(z {self.compare()} y)", f"(abs(z - y) {self.compare()} {self.small()})"]
        if self.tags:
            kinds, types = ([str(x).split("-")[k] for x in self.labels[k:]] for k in (0, 1))
            tests += [f'(kind({self.tape()}) == "{self.random.choice(kinds)}")']
            tests += ["(type(z) == type(y))", "(kind(z) != kind(y))"]
            tests += [f'(type({self.tape()}) == "{self.random.choice(types)}")']
        return self.random.choice(tests)

    def place_test(self):
        test = f"(i {self.compare()} {self.small()})"
        return self.one("{test} | (i % 2 == 1) | (i == n) | (n - i >= 1)", test=test)

    def known(self):
        return [*self.numbers, *(self.passing if self.inside else [])]

    def number_test(self):
        if not self.numbers:
            return f"(n {self.compare()} {self.small()})"
        name = self.random.choice(self.known())
        other = self.random.choice(self.numbers)
        tests = [f"({name} {self.compare()} {self.small()})", f"({name} {self.compare()} {other})"]
        if self.registers:
            held = self.random.choice(self.registers)
            tests += [f"(old {held} != {held})", f"(old {held} {self.compare()} {self.small()})"]
        return self.random.choice(tests)

    def memory_test(self):
        name, depth, of_labels = self.random.choice(self.memories)
        back = self.random.randrange(depth)
        what = self.entry(of_labels)
        old = self.random.choice(("", "", "old "))
        tests = [f"({old}{name}[{back}] == {what})", f"({old}{name}[{back}] != {what})"]
        tests += [f"(tally({name}, {what}) {self.compare()} {self.small()})"]
        twin = self.random.choice(next(names for names in self.alike.values() if name in names))
        tests += [f"({old}{name} {self.random.choice(('==', '!='))} {twin})"]
        tests += [f"({twin} == old {name})"]
        other, further, same = self.random.choice(self.memories)
        if same == of_labels:
            tests += [f"({name}[{back}] == {other}[{self.random.randrange(further)}])"]
        if not of_labels:
            tests += [f"(sum({name}) {self.compare()} {self.small()})", f"({name}[{back}])"]
            if self.inside:
                tests += [f"(i > {back} and {name}[{back}] {self.compare()} {self.small()})"]
        if self.tags and of_labels:
            tests += [f'(kind({name}[{back}]) == "B")']
            tests += [f"(type({name}[{back}]) == type({name}[0]))"]
        return self.random.choice(tests)

    def entry(self, of_labels):
        if not of_labels:
            return self.small()
        return self.tape() if self.inside and self.often(0.5) else self.label()

    # -- whole numbers and amounts ---------------------------------------------------------------

    def whole(self, depth=2):
        if depth and self.often(0.4):
            a, b = self.whole(depth - 1), self.whole(depth - 1)
            return self.one(WHOLE, a=a, b=b, c=self.condition(1))
        options = [self.small(), "n", self.condition(1), *self.whole_params]
        options += [self.random.choice(self.known()) for _ in range(3 * bool(self.known()))]
        if self.inside:
            options += ["i"]
            options += ["z", "y", "abs(z - y)"] if self.numeric else []
        for name, depth_, of_labels in self.memories:
            back = self.random.randrange(depth_)
            options += [f"tally({name}, {self.entry(of_labels)})"]
            if not of_labels:
                options += [f"sum({name})"]
                options += [f"(if i > {back} then {name}[{back}] else 1)"] if self.inside else []
        return self.random.choice(options)

    def amount(self):
        """A binary fraction."""
        options = [f"{self.whole(1)} / 4", f"0.5 * {self.whole(1)}", "-1.5", self.whole()]
        options += [f"{name} * {self.whole(1)}" for name in self.real_params]
        if self.inside:
            options += [f"{name}[z, y]" for name in self.tables]
        return self.random.choice(options)

    # -- statements ------------------------------------------------------------------------------

    def header(self):
        params = []
        if self.often(0.4):
            params.append("k: int = 2 in 1..4")
            self.whole_params.append("k")
            if self.often(0.5):
                self.given["k"] = self.random.randint(1, 4)
        if self.often(0.3):
            params.append("w = " + ("k / 4" if self.whole_params else "0.75"))
            self.real_params.append("w")
            if self.often(0.5):
                self.given["w"] = self.random.randint(-4, 4) / 4
        if self.often(0.3):
            params.append("cost: table")
            self.tables.append("cost")
            each = range(len(self.labels))
            self.given["cost"] = [[self.random.randint(-3, 6) / 2 for _ in each] for _ in each]
        listed = f"({', '.join(params)})" if params else ""
        return f'{self.random.choice(("loss", "utility"))} f{listed} "written at random"'

    def label_statement(self):
        """The labels stand in the file, or are given when it is loaded."""
        if self.often(0.5):
            return "labels " + " ".join(str(x) for x in self.labels), False
        return "labels " + ("bio" if self.tags and self.often(0.5) else "any"), True

    def register(self, name):
        makers = [*[self.count] * 3, self.age, self.memory, self.flag, self.general]
        line = self.random.choice(makers)(name)
        if line.startswith(("count", "age", "flag", "register")):
            self.numbers.append(name)
            self.registers.append(name)
        return line

    def count(self, name):
        line = f"count {name}"
        if self.often(0.35):
            plain = self.often(0.5) or self.pools == 2
            self.pools += not plain
            line += f" by {self.random.randint(0, 3)}" if plain else f" by {self.amount()}"
        return line + (f" when {self.condition()}" if self.often(0.9) else "")

    def age(self, name):
        limit = self.random.choice(["1", "2", "3", *self.whole_params])
        return f"age {name} since {self.condition()} up to {limit}"

    def flag(self, name):
        return f"flag {name} when {self.condition()}"

    def memory(self, name):
        depth = self.random.randint(1, 3)
        kind = self.random.choice(("labels", "truth", "number"))
        if kind == "labels":
            line = f"memory {name} of {self.tape()} last {depth}"
        elif kind == "truth":
            line = f"memory {name} of {self.truth()} last {depth}"
        else:
            line = f"memory {name} of floor(min(2, abs({self.whole()}))) in 0..2 last {depth}"
        self.memories.append((name, depth, kind == "labels"))
        self.alike.setdefault((depth, kind), []).append(name)
        return line

    def truth(self):
        """A condition that is a comparison, or its denial, in brackets."""
        return self.random.choice(("(z != y)", f"(not {self.condition(1)})", "(i % 2 == 0)"))

    def general(self, name):
        if self.risky and self.often(0.7):
            step = self.random.choice((f"{name} + {self.condition()}", self.whole(1)))
            return f"register {name} in 0..2 start {self.random.choice('0012')} next {step}"
        low, high = -self.random.randint(0, 1), self.random.randint(1, 4)
        start, other = (self.random.randint(low, high) for _ in range(2))
        bounds, tests, more = f"in {low}..{high} start {start}", self.condition(), self.whole()
        clipped = f"max({low}, min({high}, "
        steps = [f"{clipped}floor({more})))", f"{clipped}{name} + ceil({more})))"]
        steps += [f"if {tests} then {other} else {name}"]
        bodies = [f"{bounds} next {step}" for step in steps]
        bodies += [f"in 0..{high} start 1 next floor({name} + abs({more})) % {high + 1}"]
        bodies += [f"in 0..n + {high} start {high} next {name} + {tests}"]
        bodies += [f"in -n..n start 0 next {name} - (if {tests} then 1 else 0)"]
        return f"register {name} {self.random.choice(bodies)}"

    def state_block(self):
        self.states = ("A", "B", "C")[: self.random.randint(2, 3)]
        lines = ["state " + " ".join(self.states)]
        for state in self.states:
            if self.often(0.2):
                lines.append(f"arc {state} -> {self.goal()}")
                continue
            first = self.condition()
            lines.append(f"arc {state} -> {self.goal()} when {first}")
            rest = [f"arc {state} -> {self.goal()} otherwise"]
            if self.risky and self.often(0.5):
                rest = []
            if self.often(0.4):
                careful = "" if self.risky and self.often(0.5) else f"(not {first}) and "
                more = careful + self.condition()
                rest.append(f"arc {state} -> {self.goal()} when {more}")
            self.random.shuffle(rest)
            lines += rest
        return lines

    def goal(self):
        return self.random.choice(self.states)

    def let(self):
        self.lets += 1
        name = f"q{self.lets}"
        line = f"let {name} = {self.whole()}"
        passing = re.search(r"\b(z|y|i)\b", line) or any(x in line for x in self.passing)
        (self.passing if passing else self.numbers).append(name)
        return line

    # -- the value -------------------------------------------------------------------------------

    def result(self, depth=1):
        makers = [self.linear, self.linear, self.ratio, self.curve]
        if depth:
            makers += [
                lambda: f"{self.result(0)} + {self.result(0)}",
                lambda: f"if {self.condition()} then {self.result(0)} else {self.result(0)}",
                lambda: f"-({self.result(0)}) / (n + 1)",
            ]
        return self.pick(*makers)

    def linear(self):
        known = self.numbers or ["n"]
        names = [self.random.choice(known) for _ in range(self.random.randint(1, 3))]
        terms = [f"{self.random.choice(('', '2 * ', '0.3 * ', '-'))}{x}" for x in names]
        return f"({' + '.join(terms)} + {self.small()} / 3)"

    def ratio(self):
        above, below = self.linear(), self.whole()
        return f"(if {below} == 0 then {self.small()} else {above} / {below})"

    def curve(self):
        curves = "sqrt(abs({x})) | exp(-abs({x}) / 3) | log(1 + abs({x})) | 2^min({x}, 3)"
        return self.one(curves, x=self.whole())

    def value(self):
        self.inside = False
        if self.risky:
            line = f"value {self.risk()} + {self.risk()} or {self.risk()} when {self.condition()}"
            self.inside = True
            return line
        above, below = self.linear(), self.whole()
        lines = [f"{self.result()}", f"{above} / {below} or {self.result(0)} when {below} == 0"]
        lines += [f"{above} / ({below}) or 1 when {self.condition()} or 0.5 when {below} == 0"]
        line = f"value {self.random.choice(lines)}"
        self.inside = True
        return line

    def risk(self):
        """A part of a value that may have none."""
        a, b = self.whole(1), self.whole(1)
        risks = [f"{a} / ({b} - 1)", f"({a} % {b})", f"sqrt({a} - 1)", f"log({a})", f"({a})^-1", a]
        for name, depth, of_labels in self.memories:
            risks += [] if of_labels else [f"{name}[{depth - 1}]"] * 2
        return self.random.choice(risks)

    def file(self):
        """The text, and whether labels must be given with it."""
        head = self.header()
        labels, ask = self.label_statement()
        lines = []
        names = [f"r{k}" for k in range(self.random.randint(1, 4))]
        block_at = self.random.randint(0, len(names)) if self.often(0.35) else -1
        for k, name in enumerate(names):
            if k == block_at:
                lines += self.state_block()
            if self.often(0.15):
                lines.append(self.let())
            lines.append(self.register(name))
        if block_at == len(names):
            lines += self.state_block()
        return "\n".join([head, labels, *lines, self.value()]) + "\n", ask
