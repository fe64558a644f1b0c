"""Costs of tags for chunk F1 by loops written for it, without fsmeu: the yardstick.

All that matters of the tags so far is the type of the last one, whether its chunk agrees with the
open chunk of the reference (opened with it, the same type), how many chunks agree and how many were
opened. ``best[t, type, agrees, k]`` is the greatest number of further agreements with k further
chunks. The functions are plain Python; the benchmark compiles them.
"""

import numpy as np

NONE = -1000


def reference(y, types):
    """For each position the type of the chunk that opens (or -1), and whether one goes on."""
    opens, goes, last = np.full(len(y), -1), np.zeros(len(y), np.int64), None
    for t, tag in enumerate(y):
        kind, _, name = tag.partition("-")
        if kind == "I" and name == last:
            goes[t] = 1
        elif kind != "O":
            opens[t] = types.index(name)
        last = name or None
    return opens, goes


def action(opens, goes, types, last, agrees, tag):
    """(gain, chunks, type, agrees) of a tag: 0 is O, then B of each type, then I of each.

    Args:
        opens: the type that opens in the reference, or -1.
        goes: whether its chunk goes on.
        types: the number of types, which as a type stands for none.
        last: the type of the last tag.
        agrees: whether its chunk agrees.
        tag: the tag.
    """
    lost = 1 if agrees and goes else 0
    if tag == 0:
        return -lost, 0, types, 0
    name = (tag - 1) % types
    if tag > types and name == last:
        kept = 1 if agrees and goes else 0
        return kept - agrees, 0, name, kept
    same = 1 if opens == name else 0
    return same - lost, 1, name, same


def build(opens, goes, types):
    """The table ``best``, shape (n + 1, types + 1, 2, n + 1)."""
    n = len(opens)
    best = np.full((n + 1, types + 1, 2, n + 1), NONE)
    best[n, :, :, 0] = 0
    for t in range(n - 1, -1, -1):
        for last in range(types + 1):
            for agrees in range(2):
                for tag in range(2 * types + 1):
                    gain, more, to, then = action(opens[t], goes[t], types, last, agrees, tag)
                    for k in range(n - t):
                        ahead = best[t + 1, to, then, k]
                        if ahead > NONE and ahead + gain > best[t, last, agrees, k + more]:
                            best[t, last, agrees, k + more] = ahead + gain
    return best


def costs(opens, goes, types, best, states, found):
    """Fills ``found`` (states, tags); a state is (t, type, agrees, agreeing, opened)."""
    n = len(opens)
    ref = 0
    for t in range(n):
        ref += 1 if opens[t] >= 0 else 0
    for s in range(len(states)):
        t, last, agrees, right, opened = states[s]
        greatest = 0.0
        for tag in range(2 * types + 1):
            gain, more, to, then = action(opens[t], goes[t], types, last, agrees, tag)
            value = 0.0
            for k in range(n - t):
                ahead = best[t + 1, to, then, k]
                if ahead > NONE:
                    below = opened + more + k + ref
                    score = 2.0 * (right + gain + ahead) / below if below else 1.0
                    value = max(value, score)
            found[s, tag] = value
            greatest = max(greatest, value)
        for tag in range(2 * types + 1):
            found[s, tag] = greatest - found[s, tag]


def state_after(opens, goes, types, tags):
    """The state after some tags."""
    last, agrees, right, opened = types, 0, 0, 0
    for t, tag in enumerate(tags):
        gain, more, last, agrees = action(opens[t], goes[t], types, last, agrees, tag)
        right, opened = right + gain, opened + more
    return len(tags), last, agrees, right, opened
