"""A query has the same bits as Python and compiled, alone, in a batch, late, and in threads."""

import os
import subprocess
import sys

import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.models import Bernoulli, Markov, from_potentials
from fsmeu.trellis import kernels
from fsmeu.trellis.walk_kernels import push
from tests.support.kernels import kernels_that_run

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
LOSSES = {name: {"labels": TAGS} for name in ("chunk_fscore", "hamming", "chunk_recall")}
JOINT = """
utility joint
labels any
flag    apart when z != y
age     both since z == y up to 2
count   good by 1 - 2 * (y == "O") when not apart and both < 2
count   more when y != "O"
value   good / (1 + apart + more)
"""
"""A loss that only the general walk takes, as it takes Jaccard's."""
JACCARD = fsmeu.load("jaccard")


def fields(seed, lengths, shared=False):
    """Hypotheses and random fields, all with one table of neighbours or each with its own."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(5, 5))
    models = [
        from_potentials(
            random.normal(size=(n, 5)), table if shared else random.normal(size=(5, 5)), TAGS
        )
        for n in lengths
    ]
    return [[TAGS[k] for k in random.integers(5, size=n)] for n in lengths], models


def binary(seed, n, order=0):
    """A hypothesis and a model over 0 and 1."""
    random = np.random.default_rng(seed)
    z = random.integers(0, 2, n).tolist()
    if not order:
        return z, Bernoulli(random.random(n))
    initial = random.dirichlet(np.ones(2**order)).reshape((2,) * order)
    return z, Markov(initial, random.dirichlet(np.ones(2), (2,) * order), n)


def again(models):
    """The same models with nothing computed yet."""
    return [from_potentials(m.unary, m.pairwise, TAGS) for m in models]


def outcome(decision):
    return decision.labels, decision.value.hex(), decision.exact


@pytest.mark.thirds
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_a_query_depends_on_nothing_else(name, shared):
    """Decisions and expectations, after other queries, in another order and by two threads."""
    zs, models = fields(7, [4, 1, 6, 2, 4, 5, 3], shared)

    def fresh():
        return fsmeu.load(name, **LOSSES[name])

    decided = [outcome(fsmeu.decode(fresh(), model)) for model in again(models)]
    pairs = zip(zs, again(models), strict=True)
    expected = [fsmeu.expect(fresh(), z, model).value for z, model in pairs]
    loss = fresh()
    fsmeu.decode_many(loss, fields(8, [9, 3, 2])[1])
    for decisions in (
        [fsmeu.decode(loss, model) for model in again(models)],
        fsmeu.decode_many(loss, again(models)),
        fsmeu.decode_many(loss, again(models)[::-1])[::-1],
        fsmeu.decode_many(fresh(), again(models), jobs=2),
    ):
        assert list(map(outcome, decisions)) == decided
    for values in (
        fsmeu.expect_many(loss, zs, again(models)).values,
        fsmeu.expect_many(loss, zs[::-1], again(models)[::-1]).values[::-1],
        fsmeu.expect_many(loss, zs, again(models), jobs=2).values,
    ):
        assert values.tolist() == expected


def test_batch_mates_do_not_matter_to_the_walk():
    pairs = [binary(seed, 3 + seed % 4, order=seed % 3) for seed in range(24)]
    alone = np.array([fsmeu.expect(JACCARD, z, model).value for z, model in pairs])
    together = fsmeu.expect_many(JACCARD, *zip(*pairs, strict=True)).values
    assert together.tobytes() == alone.tobytes()


def split_answers(seed):
    """Numbers of every kind that the split trellis computes."""
    zs, models = fields(seed, [6, 3])
    for name, given in LOSSES.items():
        loss = fsmeu.load(name, **given)
        for made in fsmeu.decode_many(loss, again(models)):
            yield [made.value, made.exact, *map(TAGS.index, made.labels)]
        yield fsmeu.expect_many(loss, zs, again(models)).values
        yield from (fsmeu.gradient(loss, *pair) for pair in zip(zs, again(models), strict=True))


def walked_answers(seed):
    """Numbers of every kind that the walk computes."""
    loss, ((tags,), (chain,)) = fsmeu.loads(JOINT, labels=TAGS), fields(seed, [5])
    z, model = binary(seed, 9, order=seed % 3)
    one = fsmeu.expect(JACCARD, z, model)
    yield one.value, one.upper
    yield one.levels.ungrouped
    yield fsmeu.expect(JACCARD, z, model, keep=5).value
    yield fsmeu.expect(JACCARD, model, model).value
    yield fsmeu.gradient(JACCARD, z, model)
    yield fsmeu.expect(loss, tags, chain).value
    yield fsmeu.gradient(loss, tags, chain)
    yield fsmeu.expect(fsmeu.load("windowdiff", k=7), z, model).value


def flat(found):
    """All numbers, in one array."""
    if isinstance(found, dict):
        return np.concatenate([np.ravel(found[name]) for name in sorted(found)])
    return np.ravel(np.array(found, np.float64))


@pytest.mark.parametrize("answers", [split_answers, walked_answers])
@pytest.mark.parametrize("seed", range(3))
def test_plain_and_compiled_have_the_same_bits(answers, seed):
    found = []
    for how in ("plain", "compiled"):
        with kernels_that_run(how):
            found.append([flat(one) for one in answers(seed)])
    for plain, compiled in zip(*found, strict=True):
        assert plain.tobytes() == compiled.tobytes()


@pytest.mark.nightly
def test_compiling_is_announced_and_what_it_gives_is_kept(tmp_path):
    """By one line of the first process, whatever it compiles; by none of the second."""
    script = """if True:
        import numpy as np
        from fsmeu.trellis import chain_kernels
        table = np.full((2, 2, 2), 0.5)
        z = np.zeros(2, int)
        print(chain_kernels.count_variance(table, z, np.ones(2), np.zeros(2)) > 0)
    """
    there = {**os.environ, "FSMEU_CACHE": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", script], env=there, text=True, capture_output=True)
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["True\n"] * 2, [run.stderr for run in runs]
    assert [run.stderr.count("compiles loops, once on this machine") for run in runs] == [1, 0]


def test_many_small_queries_are_compiled(monkeypatch):
    """Each runs as Python, until all have taken about as long as loading the loops does."""
    monkeypatch.setattr(kernels, "_COMPILED", {})
    monkeypatch.setattr(kernels, "_PLAIN_WORK", [0])
    monkeypatch.setattr(kernels, "compiled", lambda function, rows=None: "compiled")
    work = limits.SMALL_WORK // 2
    chosen = [kernels.kernel(push, work) for _ in range(3 * limits.PLAIN_QUERIES)]
    assert chosen.index("compiled") == 2 * limits.PLAIN_QUERIES + 1
    assert set(chosen[: 2 * limits.PLAIN_QUERIES]) == {push}
    assert set(chosen[2 * limits.PLAIN_QUERIES + 1 :]) == {"compiled"}
    assert kernels.kernel(push, 1) == "compiled"
