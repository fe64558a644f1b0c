"""Decisions of sequences, documents and corpora, constraints, and the consensus of samples."""

import math

import numpy as np

import fsmeu
from fsmeu.decoding.problem import RefusalError
from fsmeu.errors import EmptyError, InputError, LossFileError, SizeLimitError
from fsmeu.losses.semantics.at_length import RangeError
from fsmeu.models import Bernoulli, Independent, Markov, Mixture

COUNTS = "labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 count ref when y == 1"
GREAT = """utility u labels 0 1
count tp when z == 1 and y == 1
count b by (if z == 1 then 1 else 2^53) when n > 0
value if b > 2^53 and b < 2^53 + 4 then tp else 0"""  # whether b is 2^53 or 1 more decides


def valued(value):
    """A utility with this value of the counts of a confusion table."""
    return fsmeu.loads(f"utility u {COUNTS} value {value}")


NAMES = {name: getattr(fsmeu, name) for name in fsmeu.__all__} | {
    "F1": fsmeu.load("fscore"),
    "GREAT": fsmeu.loads(GREAT),
    "valued": valued,
    "nan": math.nan,
    "P": [0.3] * 4,
    "LONG": [0.5] * 200,
    "RISING": "if ref > 0.4 * n then 1 - tp / n else tp / n range 0 .. 1",
    "CHAIN": Markov([0.5, 0.5], [[0.5, 0.5], [0.1, 0.9]], n=40),
    "TWICE": Mixture([Bernoulli([0.5, 0.2]), Bernoulli([0.1, 0.9])], [0.5, 0.5]),
    "FOUR": Independent([[0.2, 0.3, 0.1, 0.4]], "abcd"),
    "CHUNKS": fsmeu.load("chunk_fscore", types=[f"T{k}" for k in range(40)]),
    "OTHER": Independent(np.full((2, 5), 0.2), ("O", "B-T3", "I-T3", "B-Q", "I-Q")),
    "EVENTS": fsmeu.load("event_fscore", tolerance=1),
}
RANGE = "the declared range 0 .. 1"
ROWS = [
    # what would be a wrong number
    ("decode(F1, FOUR)", InputError, "the same labels ... take one that says 'labels any'"),
    ("decode_many(CHUNKS, [OTHER])", InputError, "in the model alone: ['B-Q', 'I-Q']"),
    ("decode_many(F1, [[0.5], [1.5]])", InputError, "decode_many, models[1]"),
    ("decode_corpus(F1, [[0.5], [nan]])", InputError, "decode_corpus, models[1]"),
    ("expect(F1, models.Bernoulli([0.9]), [1])", InputError, "z comes before the model"),
    ("decode(GREAT, P)", LossFileError, "b passes 2^53"),
    ("decode(valued('if hyp == 1 then inf else tp'), P)", LossFileError, "finite"),
    ("decode(valued('3 * hyp - 2 * ref range 0 .. 1'), [0.8] * 4)", RangeError, RANGE),
    ("decode_many(valued('2 * sqrt(tp / n) range 0 .. 1'), [[0.8] * 4] * 2)", RangeError, RANGE),
    ("expect(EVENTS, '0101', P)", InputError, "more than 2 * tolerance ... fails at entry 3"),
    ("gradient(EVENTS, '0101', P)", InputError, "more than 2 * tolerance"),
    ("evaluate_corpus(EVENTS, ['0101'], ['0101'])", InputError, "more than 2 * tolerance"),
    ("compile_summed(EVENTS, 4, '0101')", InputError, "more than 2 * tolerance"),
    ("decode(F1, [0.5, 0.2], augment=[1])", InputError, "length of the model, 2"),
    ("decode(F1, TWICE, augment=[1, 0])", InputError, "no two paths"),
    # methods whose proof does not hold
    ("decode(F1, CHAIN, method='ratios')", RefusalError, "labels must be independent"),
    ("decode(valued('hyp - tp * tp'), P, method='ranking')", RefusalError, "with n=4"),
    ("decode(valued(RISING), [0.4] * 200, method='ranking')", RefusalError, "with n=200"),
    ("decode_corpus(load('g_mean'), [CHAIN])", InputError, "linear"),
    # options
    ("decode(F1, P, method='rankin')", InputError, "'ranking'"),
    ("decode(F1, P, method='ratios', k=2)", InputError, "alone ... counting"),
    ("decode(F1, P, k=0)", InputError, "k must be"),
    ("decode(F1, P, engine='openfst', method='search')", InputError, "has the methods additive"),
    ("decode_corpus(F1, [[0.5]], gap=-1)", InputError, "gap"),
    # constraints
    ("decode(F1, P, constraint='0 (1')", InputError, "not closed"),
    ("decode(F1, P, constraint='0 2')", InputError, "'2' is not a label"),
    ("decode(F1, P, constraint='0' + '*{2}' * 5000)", InputError, "100 deep"),
    ("decode(F1, P, constraint='1{1000}')", EmptyError, "at least one sequence of length 4"),
    ("decode(EVENTS, P, constraint='0 1 1 0')", EmptyError, "stand more than 2 * tolerance apart"),
    ("decode(F1, LONG, constraint='!(.* 1 .{16} 1 .*)')", SizeLimitError, "at most 20,000 states"),
    # samples
    ("consensus([[0, 1], [0]], F1)", InputError, "samples[1]: all samples must have as many"),
    ("consensus('0110', F1)", InputError, "must be a list of label sequences"),
    ("consensus([{nan}], F1)", InputError, "a label must be equal to itself"),
    ("consensus([[(0, 2, 'A')]] * 2, F1)", InputError, "Give sets of spans"),
    ("consensus([{(0, 10**9, 'NP')}], 'chunk_fscore')", SizeLimitError, "FSMEU_MAX_ARCS"),
    ("consensus([{1}, {2}], F1, weights=[0, 0])", EmptyError, "one weight must be positive"),
]
