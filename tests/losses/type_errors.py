"""Files that can be read but take one sort of thing for another, by the message they deserve."""

from fsmeu.losses.semantics.bind import (
    AMOUNT,
    ARITHMETIC,
    BRANCHES,
    CONDITION,
    DEFAULT,
    ENTRY,
    EQUAL,
    FUNCTION,
    NEXT,
    ORDER,
    SUM,
    TABLE,
    TAGS,
    TALLY,
    UNKNOWN,
    VALUE,
)

LETTERS = "loss f labels A B "
MEMORY = LETTERS + "memory m of z last 2 "
TAGGED = "loss f labels O B-x "
TYPE_ERRORS = {
    VALUE: [
        MEMORY + "value m",
        MEMORY + "value m[0]",
        MEMORY + "value 1 or m when n == 0",
        MEMORY + "value if n == 0 then 1 else m",
        LETTERS + 'value "A"',
    ],
    DEFAULT: [
        "loss f(w: table = z) labels A B count c by w[z] value c",
        "loss f(w: table = kind(z)) labels O B-x count c by w[z] value c",
    ],
    AMOUNT: [
        LETTERS + "count c by z value c",
        LETTERS + "let a = y count c by a when z == y value c",
        LETTERS + "count c by (if i == 1 then 1 else z) value c",
        MEMORY + "count c by old m value c",
        TAGGED + "count c by kind(z) value c",
    ],
    CONDITION: [
        LETTERS + "count c when z value c",
        LETTERS + "count c when z == y and z value c",
        LETTERS + "count c when not y value c",
        LETTERS + 'flag g when "A" value g',
        LETTERS + "age a since z up to 3 value a",
        LETTERS + "state S arc S -> S when z value 1",
        MEMORY + "value if m then 1 else 2",
        MEMORY + "value 1 or 2 when m",
        TAGGED + "count c when type(z) or i == 1 value c",
    ],
    NEXT: [
        LETTERS + "register r in 0..3 start 0 next z value r",
        MEMORY + "register r in 0..3 start 0 next if z == y then r else m value r",
    ],
    ENTRY: [
        LETTERS + "memory m of z in 0..1 last 2 value 1",
        LETTERS + "memory m of (if z == y then z else y) last 2 value 1",
        MEMORY + "memory k of m last 2 value 1",
        MEMORY + "memory k of m[1] in 0..1 last 2 value 1",
    ],
    ARITHMETIC: [
        LETTERS + "count c by z + 1 value c",
        LETTERS + "count c when abs(z - y) == 1 value c",
        LETTERS + "count c by -z value c",
        MEMORY + "value m + 1",
        MEMORY + "value 2 * m[0]",
        TAGGED + 'count c by "O" ^ 2 value c',
    ],
    ORDER: [
        LETTERS + "count c when z < y value c",
        LETTERS + "count c when 1 >= y value c",
        TAGGED + 'count c when kind(z) <= "O" value c',
        MEMORY + "value (m > old m)",
    ],
    FUNCTION: [
        LETTERS + "count c by min(1, z) value c",
        LETTERS + "count c by abs(z) value c",
        MEMORY + "value max(m, 3)",
        TAGGED + "count c by floor(type(z)) value c",
    ],
    EQUAL: [
        LETTERS + "count c when z == 1 value c",
        LETTERS + "count c when 0 != y value c",
        LETTERS + 'count c when "B" == 1 value c',
        LETTERS + "count c when z == (z == y) value c",
        TAGGED + "count c when kind(z) == 1 value c",
        TAGGED + "memory m of type(z) last 2 count c when m[0] == 1 value c",
        MEMORY + "value (m[0] == 1)",
        MEMORY + "value (m == 1)",
        MEMORY + "count c when m == z value c",
        MEMORY + "memory k of z last 3 value (m == k)",
        MEMORY + "memory k of (z == y) last 2 value (m == k)",
        MEMORY + "memory k of (z == y) in 0..2 last n value (k != m)",
    ],
    BRANCHES: [
        LETTERS + "count c when (if i == 1 then z else 1) == y value c",
        MEMORY + "value ((if n == 1 then m else 0) == m)",
    ],
    TALLY: [
        MEMORY + "value tally(m, 1)",
        MEMORY + "value tally(m, m)",
        LETTERS + 'memory m of (z == y) last 2 value tally(m, true) + tally(m, "A")',
        TAGGED + "memory m of kind(z) last 2 value tally(m, n)",
    ],
    SUM: [MEMORY + "value sum(m)", TAGGED + "memory m of kind(z) last 2 value sum(m)"],
    TAGS: [
        'loss f labels 0 1 count c when kind(z) == "B" value c',
        TAGGED + 'count c when kind(kind(z)) == "B" value c',
        TAGGED + 'count c when type("B") == "B" value c',
        TAGGED + 'count c when type(i) == "x" value c',
    ],
    TABLE: [
        "loss f(t: table = 1) labels A B count c by t[z, 1] value c",
        "loss f(t: table = 1) labels O B-x count c by t[kind(z), y] value c",
        'loss f(t: table = 1) labels 0 1 count c by t[z, "2"] value c',
    ],
    UNKNOWN: [
        LETTERS + 'count c when z == "b" value c',
        MEMORY + 'value tally(m, "AB")',
        'loss f labels 0 1 count c when z == "A" value c',
    ],
}
