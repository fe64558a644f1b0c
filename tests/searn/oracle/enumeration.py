"""What an oracle must answer, by listing every completion with the second reading of the language.

Values are fractions wherever the language allows it, so that ties are ties.
"""

from fractions import Fraction


def reachable(world, y, greater):
    """The best value after every prefix (a tuple of labels), a dictionary.

    Args:
        world: the meaning of a loss file at the length of y (``tests.losses.meaning``).
        y: the reference.
        greater: whether greater values are better.
    """
    best = max if greater else min
    found = {}

    def visit(state, z):
        if len(z) == len(y):
            found[z] = world.value(state)
        else:
            after = [world.step(state, a, y[len(z)], len(z) + 1) for a in world.labels]
            ahead = zip(world.labels, after, strict=True)
            found[z] = best(visit(state, (*z, a)) for a, state in ahead)
        return found[z]

    visit(world.start(), ())
    return found


def costs(found, prefix, labels):
    """The cost of each next label: how much worse the best value after it is than that before."""
    return [abs(found[prefix] - found[(*prefix, a)]) for a in labels]


def assert_equal(oracle, found, prefix, labels):
    """Costs, best labels and values after a prefix are those that were listed.

    Values that are no fractions (roots, logarithms) are rounded, as the oracle's are.
    """
    truth = costs(found, prefix, labels)
    answer = oracle.costs(prefix)
    scale = max(abs(float(found[(*prefix, a)])) for a in labels)
    for cost, given in zip(truth, answer, strict=True):
        exact = isinstance(cost, Fraction)
        near = 0.0 if exact and cost == 0 else 1e-12 * scale
        assert abs(float(cost) - given) <= near, (prefix, truth, answer)
        assert given >= 0.0
    assert 0.0 in answer
    assert abs(oracle.value(prefix) - float(found[prefix])) <= 1e-12 * abs(float(found[prefix]))
    zeros = tuple(a for a, cost in zip(labels, answer, strict=True) if cost == 0.0)
    assert oracle.best_all(prefix) == zeros


def prefixes(labels, n, rng, most=8):
    """Some prefixes shorter than n, the empty one among them."""
    if not n:
        return []
    drawn = [tuple(rng.choices(labels, k=rng.randrange(n))) for _ in range(most)]
    return list(dict.fromkeys([(), *drawn]))
