"""Eight threads that ask one loss, one oracle and the same models all at once, bit for bit."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import fsmeu
from fsmeu.searn import CostOracle, CostOracles
from tests.label_models import plain_model

LOSSES = {
    "fscore": partial(fsmeu.load, "fscore"),
    "chunk_fscore": partial(fsmeu.load, "chunk_fscore", types=["X"]),
    "windowdiff": partial(fsmeu.load, "windowdiff", k=2),
    "jaccard": partial(fsmeu.load, "jaccard"),  # by a walk, where labels depend on each other
}
LENGTHS = (1, 2, 4, 11)


def bits(answer):
    """Numbers, labels and arrays of an answer as text in which no two doubles are alike."""
    if isinstance(answer, dict):
        return {name: bits(part) for name, part in answer.items()}
    if isinstance(answer, list | tuple):
        return [bits(part) for part in answer]
    if isinstance(answer, np.ndarray):
        return answer.shape, str(answer.dtype), answer.tobytes()
    if isinstance(answer, fsmeu.Expectation):
        return bits((answer.value, answer.lower, answer.upper, answer.kept))
    if isinstance(answer, float):
        return answer.hex()
    return repr(answer)


def decided(decision):
    return list(map(str, decision.labels)), decision.value, decision.exact


def questions(name):
    """Everything that is asked of one loss, as functions without arguments, by what they ask."""
    loss, rng = LOSSES[name](), np.random.default_rng(8)
    models = [
        plain_model(rng, kind, loss.labels, n, **options).build()
        for kind, options in (("markov", {"order": 1}), ("independent", {}), ("potentials", {}))
        for n in LENGTHS
    ]
    zs = [[loss.labels[k] for k in rng.integers(0, len(loss.labels), m.n)] for m in models]
    short = [model for model in models if model.n <= 4]
    asked = {}
    for k, (z, model) in enumerate(zip(zs, models, strict=True)):
        asked["expect", k] = partial(fsmeu.expect, loss, z, model)
        asked["gradient", k] = partial(fsmeu.gradient, loss, z, model)
        asked["decode", k] = lambda model=model: decided(fsmeu.decode(loss, model))
        if model.n <= 4:
            asked["openfst", k] = partial(fsmeu.expect, loss, z, model, engine="openfst")
        asked["oracle", k] = lambda z=z: walked(CostOracle(loss, z), z)
    asked["many"] = lambda: [decided(one) for one in fsmeu.decode_many(loss, models)]
    asked["values"] = lambda: fsmeu.expect_many(loss, zs, models).values
    if name in ("fscore", "chunk_fscore"):
        asked["corpus"] = lambda: corpus_decided(fsmeu.decode_corpus(loss, short))
        asked["all"] = partial(fsmeu.expect_corpus, loss, zs, models)
    shared = CostOracles(loss, zs)
    for k, z in enumerate(zs):
        asked["shared oracle", k] = lambda k=k, z=z: walked(shared.oracle(k), z)
    return asked


def corpus_decided(found):
    return [list(map(str, z)) for z in found.labels], found.value, found.lower, found.upper


def walked(oracle, y):
    """Costs and values on the way along labels that are one place off."""
    z = [*y[1:], y[0]]
    prefixes = [z[:k] for k in range(0, len(y), 3)]
    return [oracle.costs(z) for z in prefixes], [oracle.value(z) for z in prefixes]


@pytest.mark.thirds
@pytest.mark.parametrize("name", LOSSES)
def test_eight_threads_ask_one_loss(name):
    alone = {key: bits(ask()) for key, ask in questions(name).items()}
    asked, before = questions(name), sys.getswitchinterval()
    order = 2 * list(asked)
    random.Random(name).shuffle(order)
    try:
        with ThreadPoolExecutor(8, initializer=sys.setswitchinterval, initargs=[1e-6]) as pool:
            found = list(pool.map(lambda key: bits(asked[key]()), order))
    finally:
        sys.setswitchinterval(before)
    assert [key for key, one in zip(order, found, strict=True) if one != alone[key]] == []
