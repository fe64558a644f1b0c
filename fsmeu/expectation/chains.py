"""Expected values of long sequences under a chain of two labels: sums of quotients of counts.

With z given, the value is a sum of quotients N / D^a, N affine in items and D = v + C with costs of
items: ones of y, or zeros where a one would make D smaller, apart for the positions where z has
ones and zeros (``trellis/ranked.py``). A rule for D^-a turns E[N / D^a] into a sum over nodes of
E[N exp(-x C)], which shares of ones tell (``trellis/chains.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.expectation.query import Query
from fsmeu.expectation.result import Expectation, Levels, LossyValue, ranged_expectation
from fsmeu.losses.algebra.value import value_at_length
from fsmeu.models.chains import binary_chain
from fsmeu.trellis.chains import STEEPEST, BinaryChain, chain_of
from fsmeu.trellis.estimate import one_estimate
from fsmeu.trellis.item_quotients import Piece, UnfitError, degenerate_at, pieces_at
from fsmeu.trellis.lanes import rounded_rule, sum_range
from fsmeu.trellis.rules import Rule, rule_for, wide_rule


def chain_expectation(query: Query, levels: Callable[[Query], Levels]) -> Expectation | None:
    """The expectation under a chain; None where rules do not serve the value.

    ``levels`` makes the distribution of the value.
    """
    tables = binary_chain(query.model)
    value = None if query.loss.confusion is None else value_at_length(query.loss.confusion, query.n)
    if value is None or tables is None or query.z is None:
        return None
    chain = chain_of(*tables)
    ks = np.array([float(query.z.sum())])
    try:
        terms = [expected_terms(chain, query.z, piece) for piece in pieces_at(value, ks)]
    except UnfitError:
        return None
    if any(chain.chances_of_all):
        terms.append(degenerate_at(value, ks)[:, 0] * chain.chances_of_all)
    all_terms = np.concatenate([np.zeros(1), *terms])
    found = LossyValue(float(all_terms.sum()), float(np.abs(all_terms).sum()))
    if one_estimate(found.value, found.size).cancels()[0]:
        return None
    listed = partial(levels, query)
    return ranged_expectation(query.loss, query.n, query.where, found, listed)


def expected_terms(chain: BinaryChain, z: Ints, piece: Piece) -> Floats:
    """The three terms of E[N / D^a] for z, whose number of ones the piece has, (3,)."""
    costs = np.zeros((2, 2))  # by labels of z and y
    costs[1, 1 - piece.flips[0]] = piece.first
    costs[0, 1 - piece.flips[1]] = piece.second
    shift = float(piece.shift[0])
    if piece.is_constant:
        rule = Rule(np.zeros(1), np.array([shift**-piece.power]), piece.power)
        shift = 0.0
    else:
        rule = _rule(chain, z, piece, costs)
    found = chain.shares(costs, rule.nodes, z)
    is_one = (z == 1).astype(np.float64)
    items = [np.einsum("i,ij->j", own, found.ones) for own in (is_one, 1.0 - is_one)]
    for side, own in enumerate((is_one, 1.0 - is_one)):
        if piece.flips[side]:
            items[side] = own.sum() - items[side]
    masses = rule.weights * np.exp(found.logs - rule.nodes * shift)
    terms: Floats = piece.top[:, 0] * (np.stack([np.ones(len(masses)), *items]) @ masses)
    return terms


def _rule(chain: BinaryChain, z: Ints, piece: Piece, costs: Floats) -> Rule:
    """A rule for D^-a where D mostly lies."""
    shift = float(piece.shift[0])
    least = float(piece.least[0])
    greatest = float(piece.greatest[0])
    unit = float(costs.max())

    def logs(nodes: Floats) -> Floats:
        return chain.shares(costs, nodes / unit, z, ones=False).logs

    reach = sum_range(logs, (greatest - shift) / unit, STEEPEST)
    low, high, centre = (shift + unit * x for x in (reach.low, reach.high, reach.mean))
    low = max(low, least)
    high = max(low, min(high, greatest))
    rule = rule_for(low, high, min(max(centre, low), high), piece.power)
    if not rule.is_one_sided:
        rule = wide_rule(least, high, piece.power)
    return rounded_rule(rule)
