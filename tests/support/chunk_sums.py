"""Expected F-scores of BIO chunks by sums over tags, apart from the package.

Numbers are fractions, or of quadruple or extended precision: what they are is up to the arrays.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True)
class Chain:
    """Weights of tag sequences, a product over positions; they need not add up to 1."""

    tags: tuple  # (L,)
    start: np.ndarray  # (L,)
    steps: list  # n - 1 arrays (L, L), by tag before and tag


@dataclass(frozen=True)
class ChunkSums:
    """By the number of chunks of y: its probability, and E[chunks of z in y; that number]."""

    mass: np.ndarray  # (n + 1,)
    joint: np.ndarray  # (n + 1,)


def of_potentials(unary, pairwise, tags, number=np.longdouble):
    """The chain of potentials (n, L) and (L, L)."""
    unary = np.exp(np.array(unary, number))
    pairwise = np.exp(np.array(pairwise, number))
    return Chain(tuple(tags), unary[0], [pairwise * row for row in unary[1:]])


def of_markov(initial, transition, n, tags, number=np.longdouble):
    """The chain of probabilities (L,) and (L, L)."""
    as_number = np.vectorize(Fraction, otypes=[object]) if number is Fraction else number
    transition = as_number(np.asarray(transition))
    return Chain(tuple(tags), as_number(np.asarray(initial)), [transition] * (n - 1))


def goes_on(before, tag):
    """Whether a tag goes on with the chunk of the tag before it."""
    return tag[0] == "I" and before[1:] == tag[1:]


def chunk_count(tags):
    """The number of chunks."""
    return sum(
        tag != "O" and not goes_on(before, tag)
        for before, tag in zip(["O", *tags], tags, strict=False)
    )


def chunk_sums(z, chain):
    """The sums of a chain for a hypothesis; no bounds are needed, as nothing is negative."""
    n = len(z)
    tags = chain.tags
    zero = 0 * chain.start[0]
    # By tag, whether an open chunk of y began with the open one of z (1), and count of chunks.
    shape = (len(tags), 2, n + 1)
    mass = np.full(shape, zero)
    joint = np.full(shape, zero)
    for y, tag in enumerate(tags):
        agrees = int(tag != "O" and z[0] != "O" and z[0][1:] == tag[1:])
        mass[y, agrees, int(tag != "O")] = chain.start[y]
    for i in range(1, n):
        new_mass = np.full(shape, zero)
        new_joint = np.full(shape, zero)
        z_goes = goes_on(z[i - 1], z[i])
        z_opens = z[i] != "O" and not z_goes
        for x, before in enumerate(tags):
            for y, tag in enumerate(tags):
                weight = chain.steps[i - 1][x, y]
                if not weight:
                    continue
                goes = goes_on(before, tag)
                opens = int(tag != "O" and not goes)
                for agreed in (0, 1):
                    both = bool(z_opens and opens and z[i][1:] == tag[1:])
                    both = both or bool(agreed and goes and z_goes)
                    end = int(agreed and not goes and not z_goes)
                    moved = weight * mass[x, agreed, : n + 1 - opens]
                    new_mass[y, int(both), opens:] += moved
                    own = weight * joint[x, agreed, : n + 1 - opens]
                    new_joint[y, int(both), opens:] += own + end * moved
        mass = new_mass
        joint = new_joint
    joint = joint.sum(axis=0)
    joint = joint[0] + joint[1] + mass.sum(axis=0)[1]
    mass = mass.sum(axis=(0, 1))
    whole = mass.sum()
    return ChunkSums(mass / whole, joint / whole)


def added(left, right):
    """The sums of two independent sentences together."""
    mass = np.convolve(left.mass, right.mass)
    joint = np.convolve(left.joint, right.mass) + np.convolve(left.mass, right.joint)
    return ChunkSums(mass, joint)


def f_score(sums, hyp, beta=1, empty=1):
    """The expected F-score of hypotheses with so many chunks."""
    weight = beta**2
    total = sums.mass[0] * empty if hyp == 0 else 0
    for ref in range(len(sums.mass)):
        if hyp + ref:
            total = total + (1 + weight) * sums.joint[ref] / (hyp + weight * ref)
    return total
