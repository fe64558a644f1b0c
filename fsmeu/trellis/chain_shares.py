"""Generating functions of counts with a one at a position, for all positions of a chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.trellis.chains import KEPT_MASSES, BinaryChain, LabelCosts, log_error, no_logs
from fsmeu.trellis.rules import Rule
from fsmeu.twofold import UNIT

KEPT_SHARES = 1 << 27  # shares of all positions and nodes: 1 GB


@dataclass(frozen=True, eq=False)
class TiltedShares:
    """E[y_i exp(-x C)] at the nodes of a rule; C counts the ones of y, or its zeros."""

    rule: Rule
    logs: Floats  # log E[exp(-x C)], (M,)
    shares: list[Floats]  # E[y_i exp(-x C)] over that, (n, nodes), for groups of nodes
    totals: Floats  # sums of the shares, (M,)
    log_errors: Floats  # bounds on errors of the logarithms, (M,)
    share_errors: Floats  # bounds on the sum of the errors of shares, of any positions, (M,)

    def weights(self, offset: float) -> Floats:
        """w_m E[exp(-x_m (offset + C))], (M,)."""
        weights: Floats = self.rule.weights * np.exp(self.logs - self.rule.nodes * offset)
        return weights

    def scores(self, offset: float) -> Floats:
        """E[y_i (offset + C)^-a] by the rule, (n,)."""
        weights = self.weights(offset)
        scores: Floats = np.zeros(len(self.shares[0]))
        begin = 0
        for shares in self.shares:
            end = begin + shares.shape[1]
            scores += shares @ weights[begin:end]
            begin = end
        return scores

    def error(self, offset: float) -> float:
        """A bound on the error, by roundings, of the sum of any of these scores."""
        exponents = self.log_errors + 4 * UNIT * self.rule.nodes * abs(offset)
        return float(self.weights(offset) @ (self.totals * exponents + self.share_errors))


def tilted_shares(chain: BinaryChain, rule: Rule, label: int) -> TiltedShares | None:
    """The shares at the nodes of a rule, C counting a label; None where they would take more room.

    What a rounding of a mass at j does to the shares of later positions, and one of b at j to those
    of earlier ones, is at most g times  sum over s of |P(y_i = 1, s_j = s) - P(y_i = 1) P(s_j = s)|
    under the tilted chain, and that is at most 2 P(s_j is not 0) d, and 2 P(y_i = 1) d, d being a
    bound on the difference that the state at the earlier position makes to the later: two paths
    that agree in m labels in a row are in one state. Each is bounded by n g, too.
    """
    from fsmeu.trellis import chain_kernels as run

    if chain.n * len(rule.nodes) > KEPT_SHARES:
        return None
    labels = LabelCosts(np.full(2, label), np.ones(2), np.zeros((2, 2)))
    z = np.zeros(chain.n, np.int64)
    together = max(1, KEPT_MASSES // (2 * chain.n * chain.states))
    groups = []
    all_logs = []
    all_spreads = []
    for begin in range(0, len(rule.nodes), together):
        nodes = rule.nodes[begin : begin + together]
        kept = np.empty((chain.n + 1, chain.states, len(nodes)))
        shares = np.empty((chain.n, len(nodes)))
        logs = no_logs(len(nodes))
        spreads = run.ShareSpreads(*np.zeros((3, len(nodes))))
        run.forward_masses(chain.steps, z, labels.tilts(nodes), kept, logs)
        factors = np.ones((2, len(nodes)))
        factors[label] = np.exp(-nodes)
        run.backward_shares(chain.steps, factors, kept, shares, spreads)
        shares[:, ~np.isfinite(logs.values)] = 0.0
        groups.append(shares)
        all_logs.append(np.stack(logs))
        all_spreads.append(np.stack(spreads))
    logs = run.LogMasses(*np.concatenate(all_logs, axis=1))
    spreads = run.ShareSpreads(*np.concatenate(all_spreads, axis=1))
    alive = np.isfinite(logs.values)
    g = chain.step_error(rule.nodes)
    totals = np.where(alive, spreads.totals, 0.0)
    log_errors = log_error(chain, logs, g) + np.minimum(spreads.masses, chain.n) * g + 64 * UNIT
    share_errors = np.minimum(2 * spreads.shares, 2 * chain.n * totals) * g + 8 * UNIT * totals
    return TiltedShares(
        rule,
        logs.values,
        groups,
        totals,
        np.where(alive, log_errors, 0.0),
        np.where(alive, share_errors, 0.0),
    )
