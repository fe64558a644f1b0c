"""Generating functions of counts with a one at a position, for all positions of a chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.trellis.chains import BinaryChain, LabelCosts, in_fours, log_error, no_logs
from fsmeu.trellis.rules import Rule
from fsmeu.twofold import UNIT


@dataclass(frozen=True, eq=False)
class TiltedShares:
    """E[y_i exp(-x C)] at the nodes of a rule; C counts the ones of y, or its zeros."""

    rule: Rule
    nodes: Floats  # of the rule, filled up by zeros to rows of four, (rows, 4)
    weights: Floats  # the same of its weights
    logs: Floats  # log E[exp(-x C)], (rows, 4)
    shares: list[Floats]  # E[y_i exp(-x C)] over that, (n, 4), by row
    totals: Floats  # sums of the shares, (rows, 4)
    log_errors: Floats  # bounds on errors of the logarithms, (rows, 4)
    share_errors: Floats  # bounds on the sum of the errors of shares, of any positions, (rows, 4)

    def masses(self, offset: float) -> Floats:
        """w_m E[exp(-x_m (offset + C))], (rows, 4)."""
        masses: Floats = self.weights * np.exp(self.logs - self.nodes * offset)
        return masses

    def scores(self, offset: float) -> Floats:
        """E[y_i (offset + C)^-a] by the rule, (n,)."""
        rows = zip(self.shares, self.masses(offset), strict=True)
        scores: Floats = sum((shares @ masses for shares, masses in rows), np.zeros(1))
        return scores

    def error(self, offset: float) -> float:
        """A bound on the error, by roundings, of the sum of any of these scores."""
        exponents = self.log_errors + 4 * UNIT * self.nodes * abs(offset)
        errors = self.masses(offset) * (self.totals * exponents + self.share_errors)
        return float(errors.sum())


def tilted_shares(chain: BinaryChain, rule: Rule, label: int) -> TiltedShares | None:
    """The shares at the nodes of a rule, C counting a label; None where they would take more room.

    What a rounding of a mass at j does to the shares of later positions, and one of b at j to those
    of earlier ones, is at most g times  sum over s of |P(y_i = 1, s_j = s) - P(y_i = 1) P(s_j = s)|
    under the tilted chain, and that is at most 2 P(s_j is not 0) d, and 2 P(y_i = 1) d, d being a
    bound on the difference that the state at the earlier position makes to the later: two paths
    that agree in m labels in a row are in one state. Each is bounded by n g, too.
    """
    from fsmeu.trellis import chain_kernels as run

    if chain.n * len(rule.nodes) > limits.KEPT_SHARES:
        return None
    labels = LabelCosts(np.full(2, label), np.ones(2), np.zeros((2, 2)))
    z = np.zeros(chain.n, np.int64)
    all_nodes = in_fours(rule.nodes)
    all_shares = []
    all_logs = []
    all_spreads = []
    for nodes in all_nodes:
        sweep = labels.sweep(chain, z, nodes)
        shares = np.empty((chain.n, len(nodes)))
        logs = no_logs()
        spreads = run.ShareSpreads(*np.zeros((3, len(nodes))))
        run.forward_masses(sweep, logs)
        run.backward_shares(sweep, shares, spreads)
        shares[:, ~np.isfinite(logs.values)] = 0.0
        all_shares.append(shares)
        all_logs.append(logs)
        all_spreads.append(spreads)
    logs = run.LogMasses(*np.stack(all_logs, axis=1))
    spreads = run.ShareSpreads(*np.stack(all_spreads, axis=1))
    alive = np.isfinite(logs.values)
    g = chain.step_error(all_nodes)
    totals = np.where(alive, spreads.totals, 0.0)
    log_errors = log_error(chain, logs, g) + np.minimum(spreads.masses, chain.n) * g + 64 * UNIT
    share_errors = np.minimum(2 * spreads.shares, 2 * chain.n * totals) * g + 8 * UNIT * totals
    return TiltedShares(
        rule,
        all_nodes,
        in_fours(rule.weights),
        logs.values,
        all_shares,
        totals,
        np.where(alive, log_errors, 0.0),
        np.where(alive, share_errors, 0.0),
    )
