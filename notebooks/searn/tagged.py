"""Tagged sentences as experiments: chunking (CoNLL-2000), Spanish names (CoNLL-2002)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmeu.corpora.columns import Sentence, inputs_and_tags
from fsmeu.searn.features.templates import CHUNKS, template_set, templated_sentences
from searn.data import conll2000, conll2002
from searn.task import Part, Split, held_out

__all__ = [
    "chunking",
    "chunking_held_out",
    "cut_sentences",
    "joint",
    "joint_held_out",
    "names",
    "names_held_out",
    "tagged_part",
]

BITS = 23
"""With 2^21 columns, one of five features of CoNLL-2000 shares its column: .3 points of F1."""
QUICK = 25
LONGEST = 400
"""Words of a training sentence. Tables of the costs of chunk F1 grow with the square of the length,
since they hold how long ago a chunk was opened. One Spanish sentence is longer, a list of 1,238
words, which is cut; the next longest has 314."""


def tagged_part(
    sentences: Sequence[Sentence], templates: str, bits: int = BITS, chunks: bool = False
) -> Part:
    """Sentences whose last column is predicted from the others, by a set of templates."""
    inputs, tags = inputs_and_tags(sentences)
    made = templated_sentences(inputs, template_set(templates), bits, CHUNKS if chunks else None)
    return Part(made, tags)


def _bits(quick: bool) -> int:
    """Few sentences need few columns."""
    return 16 if quick else BITS


def chunking(quick: bool) -> Iterator[Split]:
    """CoNLL-2000: 8,936 sentences to train on, 2,012 to predict."""
    train, test = conll2000(QUICK if quick else None)
    bits = _bits(quick)
    yield Split(*(tagged_part(part, "chunking", bits, chunks=True) for part in (train, test)))


def chunking_held_out(quick: bool) -> Iterator[Split]:
    """The last tenth of the training sentences to predict."""
    train, _ = conll2000(QUICK if quick else None)
    yield held_out(tagged_part(train, "chunking", _bits(quick), chunks=True))


def joint_part(sentences: Sequence[Sentence], bits: int = BITS) -> Part:
    """Sentences of which parts of speech and chunk tags are predicted from the words alone."""
    words = [[row[:1] for row in one] for one in sentences]
    made = templated_sentences(words, template_set("words"), bits)
    return Part(made, [[(row[1], row[2]) for row in one] for one in sentences])


def joint(quick: bool) -> Iterator[Split]:
    """CoNLL-2000 with parts of speech and chunk tags to predict."""
    train, test = conll2000(QUICK if quick else None)
    yield Split(*(joint_part(part, _bits(quick)) for part in (train, test)))


def joint_held_out(quick: bool) -> Iterator[Split]:
    """The last tenth of the training sentences to predict."""
    train, _ = conll2000(QUICK if quick else None)
    yield held_out(joint_part(train, _bits(quick)))


def cut_sentences(sentences: Sequence[Sentence], longest: int = LONGEST) -> list[Sentence]:
    """Sentences cut into pieces of at most so many words, before a word outside of chunks.

    A piece ends early where such a word stands in its second half, else at its full length.
    """
    found = []
    for one in sentences:
        begin = 0
        while len(one) - begin > longest:
            places = range(begin + longest, begin + longest // 2, -1)
            end = next((k for k in places if one[k][-1] == "O"), begin + longest)
            found.append(one[begin:end])
            begin = end
        found.append(one[begin:])
    return found


def names(small: bool, quick: bool) -> Iterator[Split]:
    """CoNLL-2002, Spanish: 8,323 sentences (or the first 300) to train on, testb to predict."""
    train, _, test = conll2002(QUICK if quick else None)
    train = cut_sentences(train[:300] if small else train)
    yield Split(*(tagged_part(part, "names", _bits(quick)) for part in (train, test)))


def names_held_out(small: bool, quick: bool) -> Iterator[Split]:
    """The same with testa, the development data of the shared task, to predict."""
    train, develop, _ = conll2002(QUICK if quick else None)
    train = cut_sentences(train[:300] if small else train)
    yield Split(*(tagged_part(part, "names", _bits(quick)) for part in (train, develop)))
