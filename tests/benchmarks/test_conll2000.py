"""The potentials are those of the tagger: best paths and marginals are crfsuite's own."""

import numpy as np

from fsmeu.models import from_potentials
from tests.benchmarks import conll2000
from tests.benchmarks.plain_chain import marginals, viterbi


def test_best_paths_are_the_taggers():
    """And nineteen tags of twenty are right, as usual with such features."""
    field, sentences = conll2000.trained_field(), conll2000.sentences("test")
    tagger = conll2000.tagger(field.trained)
    theirs = tagger.predict([conll2000.features(sentence) for sentence in sentences])
    ours = [[conll2000.TAGS[k] for k in viterbi(u, field.pairwise)] for u in field.unary]
    assert ours == list(theirs)
    gold = [conll2000.tags(sentence) for sentence in sentences]
    assert np.mean(np.concatenate(ours) == np.concatenate(gold)) > 0.95


def test_marginals_are_the_taggers():
    """Crfsuite gives its weights with six decimals: marginals agree to about five."""
    field, sentences = conll2000.trained_field(), conll2000.sentences("test")[::20]
    rows = [conll2000.features(sentence) for sentence in sentences]
    theirs = conll2000.tagger(field.trained).predict_marginals(rows)
    for unary, listed in zip(field.unary[::20], theirs, strict=True):
        table = [[position.get(tag, 0.0) for tag in conll2000.TAGS] for position in listed]
        plain = marginals(unary, field.pairwise)
        np.testing.assert_allclose(plain, table, atol=5e-5)
        model = from_potentials(unary, field.pairwise, conll2000.TAGS)
        np.testing.assert_allclose(model.marginals(), plain, rtol=1e-10, atol=1e-14)
