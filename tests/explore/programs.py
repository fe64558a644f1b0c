"""Random loss files that are in the class of some decoder, or nearly so.

Each family writes a plain member of a class (functions of the confusion table, sums over positions,
zero-one, counts of one tape, ratios of such counts, windows, files from the shelf) and then may
bend it: a factor of n, a clock, a parity, an exception at one table, an answer that is right for
short sequences only, an amount other than 1, terms that are many orders of magnitude apart.
"""

import re

import fsmeu
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.loss import read_spec
from tests import shelf
from tests.losses.writer import LABEL_SETS, Writer
from tests.strategies import LossCase

PAIRS = tuple(labels for labels in LABEL_SETS if len(labels) == 2)
AMOUNTS = ("2", "-1", "3", "0.5", "0.1", "1/3", "-2.5", "300", "1e-6", "1e12 / 7", "1e-9", "7")
SIZES = ("1e9", "1e-9", "1e15", "1e-15", "1e5", "10^-3", "2^20", "1e30", "3e-20")
LENGTHS = ("n", "(n - 1)", "(n > 2)", "(n % 2)", "(n == 3)", "(n^2 - n)", "max(n - 2, 0)", "-n")
BENT = (
    "({v}) * n | ({v}) / (n + 1) | (if n % 2 == 0 then {v} else {w}) | min({v}, {c}) | ({v}) * {s}"
    " | (if n > {k} then {w} else {v}) | (if n > {k} then -({v}) else {v}) | ({v}) + {s}"
    " | (if {a} == {k} and {b} == {j} then {w} else {v}) | (if {a} == {k} then {x} else {v})"
    " | ({v}) + {s} * {a} * {b} | ({v}) + {s} * {a} - {t} | ({v}) + 2^{a} | ({v}) * 10^-{a}"
    " | ({v}) + 10^(-3 * {a}) * {b} | abs({v} - {x}) | max({v}, {w}) | -({v}) | ({v})^2"
    " | ({v}) * (1 + (n % 2)) | ({v}) + {a} % 2"
)
"""A value v that is bent: w another, x, c, s and t numbers, a and b counts, k and j small."""
CLOCKS = ("i % 2 == 1", "i < n", "i > 1", "i != 2", "i == n", "n > 2", "n % 2 == 0", "i <= 3")


class Family(Writer):
    """Writes files of the families, with what a writer of any file knows."""

    def __init__(self, random, labels, risky=False):
        super().__init__(random, labels, risky)
        self.temper = random.choice((0.0, 0.4, 1.0, 1.0))
        self.sign = ""

    def word(self, k):
        """A label as a file writes it."""
        return str(self.labels[k]) if self.numeric else f'"{self.labels[k]}"'

    def bent(self, probability):
        """Whether to leave the class here; some files never do, some often."""
        return self.often(probability * self.temper)

    def amount_of(self):
        """What a count adds, with `by`, or nothing."""
        if not self.bent(0.3):
            return ""
        options = [*AMOUNTS, *LENGTHS]
        if self.often(0.2):
            two = [self.random.choice(AMOUNTS + SIZES) for _ in range(2)]
            options = [f"(if {self.label_test()} then {two[0]} else {two[1]})"]
        options += [*self.real_params, *self.whole_params]
        options += ["1e5"] * self.often(0.02)
        return f" by {self.random.choice(options)}"

    def counts(self, **conditions):
        """Lines of counts by these conditions, some of other amounts or by a clock."""
        some = conditions.items()
        return [f"count {x}{self.amount_of()} when {when}{self.clock()}" for x, when in some]

    def clock(self):
        return f" and {self.random.choice(CLOCKS)}" if self.bent(0.15) else ""

    def memory(self, name):
        """Some memories hold what reads no tape, or what may leave their bounds."""
        if self.often(0.8):
            return super().memory(name)
        depth = self.random.randint(1, 3)
        entries = (self.whole(1), self.whole(0), "i % 3", "n % 2", "1", "min(i, 2)")
        entry, room = self.random.choice(entries), self.random.choice(("0..1", "0..2", "-1..3"))
        self.memories.append((name, depth, False))
        self.alike.setdefault((depth, name), []).append(name)
        return f"memory {name} of {entry} in {room} last {depth}"

    def number(self):
        if self.bent(0.12):
            return self.random.choice(LENGTHS)
        plain = ("1", "2", "3", "0", "-1", "0.5", "0.3", "-2", "1/3")
        return self.random.choice(plain if self.often(0.8) else AMOUNTS + SIZES)

    def sum_of(self, names):
        """A sum with small coefficients, some of them far from 1."""
        chosen = [x for x in names if self.often(0.7)] or [names[0]]
        return " + ".join(f"({self.number()}) * {x}" for x in chosen)

    def bend(self, value, names):
        """An expression that is nearly this one."""
        a, b, c, s, t = map(self.random.choice, (names, names, AMOUNTS, SIZES, SIZES))
        numbers = {"x": self.number(), "c": c, "s": s, "t": t, "k": self.small(), "j": self.small()}
        return self.one(BENT, v=value, w=self.sum_of(names), a=a, b=b, **numbers)

    def valued(self, main, answers, names):
        """The value statement, bent or not."""
        for _ in range(2):
            if self.bent(0.4):
                main = self.bend(main, names)
        return f"value {main}{answers}"

    def ratio_of(self, names):
        """A ratio and the answers for where it has no value."""
        above, below = self.sum_of([*names, "n"]), self.sum_of([*names, "n"])
        answers = f" or {self.number()} when {below} == 0"
        if self.bent(0.25):
            condition = self.random.choice((f"{names[0]} == 1", "n == 2", f"{names[-1]} == 0"))
            extra = f" or {self.number()} when {condition}"
            answers = self.random.choice((answers + extra, extra + answers))
        return f"({above}) / ({below})", answers

    def rate_of(self):
        """A ratio that true positives make better, with the answer for where it has no value."""
        c, d = ([self.random.choice("0012") for _ in range(3)] for _ in range(2))
        c[1] = self.random.choice("123")
        if self.bent(0.4):
            c[self.random.randrange(3)] = self.random.choice(LENGTHS)
        if self.bent(0.2):
            d[self.random.randrange(3)] = self.random.choice(LENGTHS)
        above = f"{c[0]} * n + {c[1]} * tp + {c[2]} * hyp"
        below = f"{d[0]} * n + {d[1]} * hyp + {d[2]} * ref"
        answers = f" or {self.random.choice(('0', '1', '-1', '0.75'))} when {below} == 0"
        return f"{self.sign}({above}) / ({below})", answers

    # -- the families ----------------------------------------------------------------------------

    def confusion(self):
        """A function of (tp, hyp, ref, n)."""
        one, names = self.word(1), ["tp", "hyp", "ref"]
        lines = self.counts(tp=f"z == {one} and y == {one}", hyp=f"z == {one}", ref=f"y == {one}")
        if self.often(0.15):
            lines = [line for line in lines if self.often(0.7)] or lines[:1]
            names = [line.split()[1] for line in lines]
        main, answers = self.ratio_of(names)
        a, b = (self.random.choice(names) for _ in range(2))
        tn = "(n - hyp - ref + tp)"
        shapes = (
            ("2 * tp / (hyp + ref)", " or 1 when hyp + ref == 0"),
            ("tp / (hyp + ref - tp)", f" or {self.number()} when hyp + ref - tp == 0"),
            (f"tp * {tn} - (hyp - tp) * (ref - tp)", ""),
            (f"(tp / ref + {tn} / (n - ref)) / 2", " or 0 when ref * (n - ref) == 0"),
            ("2^tp - hyp * ref", ""),
            ("tp / sqrt(hyp * ref)", " or 0 when hyp * ref == 0"),
        )
        if len(names) == 3 and self.often(0.45):
            main, answers = self.rate_of()
        elif len(names) == 3 and self.often(0.4):
            main, answers = self.random.choice(shapes)
            main = self.sign + main.join("()")
        elif self.often(0.4):
            main, answers = self.sum_of(names), ""
        elif self.often(0.3):
            main, answers = f"{a} * {b} + {self.sum_of(names)}", ""
        return [*lines, self.valued(main, answers, names)]

    def additive(self):
        """A sum over positions."""
        lines, names = [], []
        if self.often(0.4):
            lines.append(f"age a0 since {self.label_test()} up to {self.random.randint(1, 3)}")
        if self.often(0.3):
            lines.append(f"memory m0 of {self.tape()} last {self.random.randint(1, 2)}")
        for k in range(self.random.randint(1, 3)):
            by = [" by cost[z, y]"] * 3 if self.tables else []
            by += [" by (z - y)^2", " by abs(z - y)"] if self.numeric else []
            by += [" by a0", " by 1 / (1 + a0)", " by a0 * (z == y)"] if len(lines) > k else []
            by = [x for x in by if "a0" not in x or lines[0].startswith("age")]
            amount = self.random.choice(by) if by and self.often(0.5) else self.amount_of()
            lines.append(f"count c{k}{amount} when {self.label_test()}{self.clock()}")
            names.append(f"c{k}")
        main = self.sum_of(names)
        if self.often(0.3):
            main = f"({main}) / (n + {self.random.choice('012')})"
            return [*lines, self.valued(main, " or 0.25 when n == 0", [*names, "n"])]
        return [*lines, self.valued(main, "", [*names, "n"])]

    def zero_one(self):
        """Tells whether the sequences are equal, or nearly."""
        test = "z != y" if not self.bent(0.2) else self.condition(1)
        arcs = f"arc A -> B when {test} arc A -> A otherwise arc B -> B"
        options = [f"flag c when {test}{self.clock()}"]
        options += [f"count c{self.amount_of()} when {test}{self.clock()}"]
        options += [f"register c in 0..1 start 0 next max(c, ({test}))"]
        options += [f"state A B {arcs} flag c when at B"]
        lines = [self.random.choice(options)]
        names, extra = ["c"], []
        if self.bent(0.4):
            extra, names = [f"count d{self.amount_of()} when {self.label_test()}"], ["c", "d"]
        shapes = ("c", "1 - c", "c > 0", "c == 0", "if c == 0 then 3 else 1", "-(c != 0)", "2^-c")
        main = f"({self.random.choice(shapes)})"
        return [*lines, *extra, self.valued(main, "", names)]

    def tape_counts(self):
        """Lines of a joint count tp, and of hyp and ref of one tape each, which may remember."""
        one, other = self.word(1), self.word(self.random.randrange(len(self.labels)))
        depth = self.random.randint(1, 2)
        memories = [f"memory mz of z last {depth}", f"memory my of y last {3 - depth}"]
        ages = [f"age mz since z == {other} up to 2", f"age my since y == {other} up to 2"]
        lines = self.random.choice((memories, ages, []))
        seen = [f"z == {one}", f"y == {one}"]
        if lines is memories:
            seen = [f"z == {one} and old mz[0] != {one}", f"y == {one} and old my[0] != {one}"]
        elif lines is ages:
            seen = [f"z == {one} and mz < 2", f"y == {one} and my < 2"]
        if self.tags and self.often(0.6):
            seen = ['kind(z) == "B"', 'kind(y) == "B"']
        joint = f"{seen[0]} and {seen[1]}"
        by = self.amount_of()
        if self.bent(0.25):
            by = f" by (z == {one}) - 2 * (z == y)"
            joint = self.random.choice((joint, "i > 0", f"y == {other}"))
        lines += [f"count tp{by} when {joint}{self.clock()}"]
        return [*lines, *self.counts(hyp=seen[0], ref=seen[1])]

    def totals(self):
        """A joint count over a sum of counts of each tape."""
        scale, hyp, ref = (self.random.choice(("1", "1", "2", "3", "0.3")) for _ in range(3))
        below = self.random.choice((f"{hyp} * hyp + {ref} * ref", f"{hyp} * hyp + {ref} * ref + n"))
        main = self.random.choice(("{x}", "{x}", "1 - {x}", "2 * {x} + 0.5")).format(
            x=f"{scale} * tp / ({below})"
        )
        answers = f" or {self.random.choice(('0', '1', '0.75'))} when {below} == 0"
        value = f"value {self.sign}({main}){answers}"
        if self.bent(0.2):
            value = self.valued(main, answers, ["tp", "hyp", "ref"])
        return [*self.tape_counts(), value]

    def counting(self):
        """Linear in what reads both tapes, otherwise a count of each tape."""
        lines = self.tape_counts()
        names = ["tp", "hyp", "ref"]
        shapes = (
            ("2 * tp / (hyp + ref)", f" or {self.number()} when hyp + ref == 0"),
            (f"tp * ({self.number()} + hyp) - ref^2", ""),
            (f"tp / (1 + abs(hyp - ref)) + {self.sum_of(names)}", ""),
            ("tp * 2^hyp + 3^ref", ""),
            self.ratio_of(names),
        )
        main, answers = self.random.choice(shapes)
        return [*lines, self.valued(main, answers, names)]

    def windows(self):
        """A sum over windows that two memories see."""
        k = self.random.randint(1, 3)
        one = self.word(self.random.randrange(len(self.labels)))
        lines = [f"memory mz of z last {k}", f"memory my of y last {k}"]
        if self.often(0.3):
            lines = [f"memory mz of (z == {one}) last {k}", f"memory my of (y == {one}) last {k}"]
            one = "1"
        tests = (
            f"tally(mz, {one}) != tally(my, {one})",
            f"(tally(mz, {one}) > 0) != (tally(my, {one}) > 0)",
            "mz == my",
            f"mz[{k - 1}] == {one} and my[0] != {one}",
            f"tally(mz, {one}) == {self.small()}",
        )
        by = self.amount_of()
        if self.often(0.3):
            amounts = "abs(tally(mz, {x}) - tally(my, {x})) | tally(my, {x}) / 3"
            by = f" by {self.one(amounts, x=one)}"
        begin = self.random.choice(("", f"i >= {k} and ", "i > 1 and "))
        lines.append(f"count c{by} when {begin}({self.random.choice(tests)}){self.clock()}")
        names = ["c"]
        if self.bent(0.4):
            lines.append(f"count d{self.amount_of()} when {self.label_test()}")
            names.append("d")
        main = self.random.choice((self.sum_of(names), f"c / (n - {k} + 1)"))
        return [*lines, self.valued(main, f" or 0 when n < {k}", names)]

    def family(self):
        """The text of a file of one family, and whether labels must be given with it."""
        makers = [self.additive, self.zero_one, self.counting, self.totals, self.windows]
        if len(self.labels) == 2:
            makers += [self.confusion] * 4
        head = self.header()
        self.sign = "-" if head.startswith("loss") else ""
        labels, ask = self.label_statement()
        return "\n".join([head, labels, *self.random.choice(makers)()]) + "\n", ask


# -- files from the shelf -------------------------------------------------------------------------

_PARAMETERS = {"k": (1, 2, 3), "beta": (0, 0.5, 1, 2), "empty": (0, 1, 0.5), "m": (0, 1, 2)}
_PARAMETERS |= {"tolerance": (0, 1), "drop": (0, 1), "alpha": (0, 0.3, 1)}


def from_the_shelf(random):
    """A file of the shelf with drawn parameters, most with a count bent."""
    name = random.choice(fsmeu.library())
    spec = read_spec(name)
    text = re.sub(r"#[^\n]*", "", spec.source)
    text = re.sub(r"(?m)^\s*(example|reference|range)\b.*$", "", text)
    labels = spec.labels or ((0, 1) if not spec.scheme else tag_labels(["x"], spec.scheme))
    if spec.labels is None and not spec.scheme and random.random() < 0.4:
        labels = random.choice(LABEL_SETS)
    given = {}
    for parameter in spec.params:
        if parameter.type == "table":
            size = range(len(labels))
            given[parameter.name] = [[random.randint(-3, 6) / 2 for _ in size] for _ in size]
        elif parameter.default is None or parameter.name in _PARAMETERS:
            values = shelf.fitting(spec, parameter, _PARAMETERS.get(parameter.name, ()))
            if values and (random.random() < 0.6 or parameter.default is None):
                given[parameter.name] = random.choice(values)
    counts = list(re.finditer(r"count\s+(\w+)\s+when ", text))
    if counts and random.random() < 0.7:
        one, clock = random.choice(counts), random.choice(CLOCKS)
        by = random.choice((f"by {random.choice(AMOUNTS)} when", f"when {clock} and"))
        text = f"{text[: one.start()]}count {one[1]} {by} {text[one.end() :]}"
    lines = "\n".join(line.rstrip() for line in text.splitlines() if line.strip())
    return LossCase(lines + "\n", tuple(labels), spec.labels is None, given)


def random_program(random):
    """A loss file of any kind, with what it is loaded with."""
    kind = random.random()
    if kind < 0.12:
        return from_the_shelf(random)
    labels = random.choice(PAIRS if random.random() < 0.6 else LABEL_SETS)
    if random.random() < 0.3:
        labels = (0, 1)
    writer = Family(random, labels, risky=kind > 0.93)
    text, ask = writer.family() if kind < 0.66 else writer.file()
    return LossCase(text, labels, ask, writer.given)
