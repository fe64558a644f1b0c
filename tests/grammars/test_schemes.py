"""Chunks in IOBES and IOB1 against seqeval's strict mode, over all sequences of small length."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from seqeval.metrics.v1 import precision_recall_fscore_support
from seqeval.scheme import IOB1, IOBES, Entities

import fsmeu
from fsmeu.errors import InputError
from fsmeu.fst.tags import tag_labels
from tests.grammars.pairs import close

LOSSES = {"chunk_fscore_iobes": ("iobes", IOBES), "chunk_fscore_iob1": ("iob1", IOB1)}
SIZES = [
    ("chunk_fscore_iobes", "X", 3),
    ("chunk_fscore_iobes", "XY", 2),
    ("chunk_fscore_iob1", "X", 5),
    ("chunk_fscore_iob1", "XY", 3),
]


def listed(name, types, n):
    """The loss, all sequences of length n as label indices, and seqeval's chunks of each."""
    scheme, theirs = LOSSES[name]
    loss = fsmeu.load(name, types=list(types), empty=0)
    assert loss.labels == tag_labels(types, scheme)
    indices = np.array(list(itertools.product(range(len(loss.labels)), repeat=n)))
    rows = [[loss.labels[k] for k in row] for row in indices]
    chunks = [{(e.tag, e.start, e.end) for e in found} for found in Entities(rows, theirs).entities]
    return loss, indices, chunks


def fscores(chunks):
    """F1 of every pair of sequences, (sequences, sequences); 0/0 is 0."""
    known = sorted(set().union(*chunks))
    table = np.array([[chunk in found for chunk in known] for found in chunks], float)
    sizes = table.sum(axis=1)
    whole = sizes[:, None] + sizes
    return np.divide(2 * table @ table.T, whole, out=np.zeros_like(whole), where=whole > 0)


@pytest.mark.parametrize(("name", "types", "n"), SIZES)
def test_all_pairs(name, types, n):
    """Sequences that are well formed, and all others."""
    loss, indices, chunks = listed(name, types, n)
    wanted = fscores(chunks)
    every = np.arange(len(indices))
    for part in np.array_split(every, max(1, len(every) // 100)):
        z, y = np.repeat(indices[part], len(every), 0), np.tile(indices, (len(part), 1))
        close(loss.pair_values(z, y), wanted[part].ravel())


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("beta", "empty"), [(1, 0), (2, 1), (0.5, 0)])
def test_scores_of_long_sequences_are_seqevals(name, beta, empty):
    """Precision is alpha = 0 and recall alpha = 1."""
    scheme, theirs = LOSSES[name]
    given = {"types": ["X", "YY"], "empty": empty}
    losses = [fsmeu.load(name, **given, **{k: v}) for k, v in (("alpha", 0), ("alpha", 1))]
    losses.append(fsmeu.load(name, **given, beta=beta))
    rng = np.random.default_rng(len(name))
    names = np.array(tag_labels(["X", "YY"], scheme))
    for n in (1, 7, 15):
        z, y = rng.integers(0, len(names), (2, 20, n))
        y = np.where(rng.random(y.shape) < 0.7, z, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = [
                precision_recall_fscore_support(
                    [b], [a], average="micro", beta=beta, scheme=theirs, zero_division=empty
                )[:3]
                for a, b in zip(names[z].tolist(), names[y].tolist(), strict=True)
            ]
        for loss, score in zip(losses, np.array(wanted, float).T, strict=True):
            close(loss.pair_values(z, y), score)


@pytest.mark.parametrize(("name", "n"), [("chunk_fscore_iobes", 3), ("chunk_fscore_iob1", 4)])
def test_expectations_and_decisions(name, n):
    """Under fields over free tags, most of them ill-formed, and over well-formed tags alone."""
    loss, indices, chunks = listed(name, "XY", n)
    scheme, _ = LOSSES[name]
    worth, size = fscores(chunks), len(loss.labels)
    rng = np.random.default_rng(n)
    for _ in range(4):
        unary, pairwise = 2 * rng.normal(size=(n, size)), rng.normal(size=(size, size))
        logs = unary[np.arange(n), indices].sum(axis=1)
        logs += pairwise[indices[:, :-1], indices[:, 1:]].sum(axis=1)
        field = fsmeu.models.from_potentials(unary, pairwise, labels=loss.labels)
        formed = fsmeu.constraints.SCHEMES[scheme]()
        right = np.array([formed.over(loss.alphabet).accepts(row) for row in indices])
        not_allowed = np.where(right, 0.0, -np.inf)
        for model, kept in ((field, np.zeros(len(logs))), (field.given(formed), not_allowed)):
            chances = np.exp(logs + kept - logsumexp(logs + kept))
            expected = worth @ chances
            decided = fsmeu.decode(loss, model)
            assert decided.exact
            assert decided.value == pytest.approx(expected.max(), rel=1e-12)
            row = np.flatnonzero((indices == loss.alphabet.encode(decided.labels)).all(axis=1))
            assert expected[row[0]] == pytest.approx(expected.max(), rel=1e-12)
            for row in rng.integers(0, len(indices), 4):
                z = [loss.labels[k] for k in indices[row]]
                value = fsmeu.expect(loss, z, model).value
                assert value == pytest.approx(expected[row], rel=1e-11, abs=1e-14)


def test_well_formed_iob1_is_read_alike_by_conlleval():
    strict, lenient = (
        fsmeu.load(name, types=["X", "Y"]) for name in ("chunk_fscore_iob1", "chunk_fscore")
    )
    allowed = fsmeu.constraints.iob1().over(strict.alphabet)
    rows = [row for row in itertools.product(range(5), repeat=4) if allowed.accepts(row)]
    z, y = np.random.default_rng(0).choice(rows, (2, 2_000))
    close(strict.pair_values(z, y), lenient.pair_values(z, y))


def test_tags_of_another_scheme():
    with pytest.raises(InputError, match=r"O, B-TYPE, I-TYPE. Got E-X instead. .* those of iobes"):
        fsmeu.load("chunk_fscore", labels=["O", "B-X", "E-X"])
    with pytest.raises(InputError, match=r"B-TYPE, I-TYPE, E-TYPE, S-TYPE. Got L-X instead"):
        fsmeu.load("chunk_fscore_iobes", labels=["O", "B-X", "L-X"])
    with pytest.raises(InputError, match=r"constraint bio: labels must be .* those of iobes"):
        fsmeu.models.Independent([[0.5, 0.5]], ["O", "S-X"]).given(fsmeu.constraints.bio())
