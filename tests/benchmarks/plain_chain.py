"""Best path and marginals of a linear chain of log-potentials, in numpy without fsmeu."""

import numpy as np


def viterbi(unary, pairwise):
    """The indices of a path with the highest score."""
    best, back = unary[0], []
    for scores in unary[1:]:
        steps = best[:, None] + pairwise
        back.append(steps.argmax(axis=0))
        best = steps.max(axis=0) + scores
    path = [int(best.argmax())]
    for row in reversed(back):
        path.append(int(row[path[-1]]))
    return path[::-1]


def marginals(unary, pairwise):
    """P(label at a position), shape (..., n, L); the potentials (..., n, L) and (..., L, L)."""
    link = np.exp(pairwise - pairwise.max(axis=(-2, -1), keepdims=True))
    local = np.exp(unary - unary.max(axis=-1, keepdims=True))
    n = local.shape[-2]
    ahead, behind = np.ones_like(local), np.ones_like(local)
    for i in range(1, n):
        ahead[..., i, :] = _pushed(ahead[..., i - 1, :] * local[..., i - 1, :], link)
        behind[..., n - 1 - i, :] = _pushed(
            behind[..., n - i, :] * local[..., n - i, :], np.swapaxes(link, -2, -1)
        )
    both = ahead * local * behind
    return both / both.sum(axis=-1, keepdims=True)


def _pushed(mass, link):
    """One step, scaled to the sum 1."""
    moved = (mass[..., None, :] @ link)[..., 0, :]
    return moved / moved.sum(axis=-1, keepdims=True)
