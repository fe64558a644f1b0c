"""Memories of the kind and of the type of tags, which chunk losses are written with."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import LossFileError
from tests.grammars.pairs import batches, close

FILE = """
loss turns "kinds and types that differ from those two positions back"
labels {labels}
memory k of kind(z) last 3
memory t of type(y) last 3
count kinds when i >= 3 and k[0] != k[2]
count types when i >= 3 and old t[1] != t[0]
count begun when k[0] == "B"
value kinds + 100 * types + 10000 * begun
"""


def parts(tag):
    kind, _, name = tag.partition("-")
    return kind, name


def test_entries_are_kinds_and_types():
    loss = fsmeu.loads(FILE.format(labels="bio"), types=("B", "O", "LONG-NAME"))
    names = np.array(loss.labels)
    for z, y in batches(len(names), (1, 2, 3, 5, 9), seed=1, total=1_000):
        wanted = []
        for a, b in zip(names[z].tolist(), names[y].tolist(), strict=True):
            kinds, types = [parts(tag)[0] for tag in a], [parts(tag)[1] for tag in b]
            turns = [sum(u != v for u, v in zip(s, s[2:], strict=False)) for s in (kinds, types)]
            wanted.append(turns[0] + 100 * turns[1] + 10000 * kinds.count("B"))
        close(loss.pair_values(z, y), wanted)


def test_numbers_have_no_kind():
    with pytest.raises(LossFileError, match="kind and type need tags such as B-NP"):
        fsmeu.loads(FILE.format(labels="0 1"))
