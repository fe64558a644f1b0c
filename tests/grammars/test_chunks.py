"""Chunk losses against seqeval, the published behaviour of conlleval, and networkx."""

import networkx as nx
import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB1, IOBES, Entities

import fsmeu
from tests.grammars.pairs import TOTAL, batches, close

TYPES = [("X",), ("X", "Y", "Z")]
LENGTHS = (1, 2, 3, 6, 12)


def tag_pairs(loss, seed, total):
    """Batches with their tags; tags are drawn freely, so most sequences are ill-formed."""
    names = np.array(loss.labels)
    for z, y in batches(len(names), LENGTHS, seed, total):
        yield z, y, names[z].tolist(), names[y].tolist()


def load(name, types, **params):
    return fsmeu.load(name, types=types, **params)


@pytest.mark.parametrize(("true", "predicted", "wanted"), [
    ("O B-NP I-NP O", "O I-NP I-NP O", 1),
    ("B-NP B-VP O", "B-NP I-VP O", 1),
    ("B-NP I-NP O B-VP O", "B-NP I-NP O I-VP I-VP", 0.5),
    ("B-NP B-NP", "B-NP I-NP", 0),
    ("O O O", "O O O", 0),
])  # fmt: skip
def test_conlleval(true, predicted, wanted):
    """What conlleval 0.2 answers."""
    loss = load("chunk_fscore", ("NP", "VP"), empty=0)
    assert loss(predicted.split(), true.split()) == wanted


def same_spans(ours, theirs):
    """How many chunks agree, their types aside."""
    return len({chunk[1:] for chunk in ours} & {chunk[1:] for chunk in theirs})


def overlaps(ours, theirs):
    """The size of a largest matching of chunks of one type that share a position."""
    graph = nx.Graph()
    for j, (kind, first, last) in enumerate(ours):
        for k, (other, begin, end) in enumerate(theirs):
            if kind == other and first <= end and begin <= last:
                graph.add_edge(("z", j), ("y", k))
    top = {node for node in graph if node[0] == "z"}
    return len(nx.bipartite.hopcroft_karp_matching(graph, top)) // 2


def same_chunks(ours, theirs):
    return len(set(ours) & set(theirs))


def lenient(rows):
    """Chunks of each row of tags, as conlleval finds them."""
    return [get_entities(row) for row in rows]


def strict(scheme):
    """Chunks of each row of tags, as seqeval's strict mode finds them."""
    return lambda rows: [[e.to_tuple() for e in row] for row in Entities(rows, scheme).entities]


@pytest.mark.thirds
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize(
    ("name", "extract", "matched"),
    [
        ("chunk_fscore", lenient, same_chunks),
        ("chunk_precision", lenient, same_chunks),
        ("chunk_recall", lenient, same_chunks),
        ("chunk_fscore_iobes", strict(IOBES), same_chunks),
        ("chunk_fscore_iob1", strict(IOB1), same_chunks),
        ("span_fscore", lenient, same_spans),
        ("chunk_type_fscore", lenient, overlaps),
    ],
)
def test_chunks_that_are_matched(name, extract, matched, types):
    """Chunks as seqeval finds them; alpha leads from precision, 0, to recall, 1."""
    weights = {0: {"alpha": 0}, 0.5: {}, 0.8: {"beta": 2}, 1: {"alpha": 1}}
    weights = {"chunk_precision": {0: {}}, "chunk_recall": {1: {}}}.get(name, weights)
    losses = {share: load(name, types, empty=-1, **given) for share, given in weights.items()}
    for z, y, predicted, true in tag_pairs(load(name, types), seed=5, total=TOTAL // 2):
        pairs = list(zip(extract(predicted), extract(true), strict=True))
        found = np.array([matched(*pair) for pair in pairs])
        hyp, ref = np.array([[len(side) for side in pair] for pair in pairs]).T
        for share, one in losses.items():
            whole = (1 - share) * hyp + share * ref
            wanted = np.where(whole > 0, found / np.maximum(whole, 0.1), -1)
            close(one.pair_values(z, y), wanted)


@pytest.mark.parametrize("tags", [
    ["O", "B-NP", "I-NP"], ["I-NP", "O", "B-NP"], ["B-NP", "I-NP"],
    ["I-VP", "I-NP", "O", "B-VP", "B-NP"],
])  # fmt: skip
def test_any_order_of_tags(tags):
    """The labels may come in any order, without O, or without some B."""
    loss = fsmeu.load("chunk_fscore", labels=tags, empty=0)
    names = np.array(tags)
    for z, y in batches(len(tags), (1, 3, 5), seed=8, total=600):
        pairs = zip(names[z].tolist(), names[y].tolist(), strict=True)
        sets = [[set(get_entities(tags)) for tags in pair] for pair in pairs]
        wanted = [2 * len(a & b) / max(len(a) + len(b), 1) for a, b in sets]
        close(loss.pair_values(z, y), wanted)
