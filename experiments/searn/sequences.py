"""Label sequences of the experiments, training and test: handwriting, chunks, Spanish names.

Data are ``conll2000``, ``conll2002_esp`` and ``ocr_letters``. Handwriting (Daumé et al. 2009,
section 6.1.1) has ten folds of words of letter images; small: one fold to train on and nine to
predict; large: the other way round. Features are pixels and the letters before, so that the model
is linear in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, zip_longest

import numpy as np
from data_folder import data_file
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.corpora.records import Sentence, inputs_and_tags, read_sentences
from fsmeu.errors import FsmeuError, InputError
from fsmeu.files import read_text
from fsmeu.searn.features import CHUNKS, HashedSentences, template_set, templated_sentences
from searn.task import Part, Sizes, Split, part_of
from searn.task import held_out as last_part

__all__ = [
    "FILES",
    "Letters",
    "chunking",
    "cut_sentences",
    "handwriting",
    "joint",
    "letters",
    "names",
    "read_corpus",
    "tagged_part",
]

FILES = {
    "conll2000": ("conll2000/train.txt.gz", "conll2000/test.txt.gz"),
    "conll2002": (
        "conll2002_esp/esp.train.gz",
        "conll2002_esp/esp.testa.gz",
        "conll2002_esp/esp.testb.gz",
    ),
    "letters": ("ocr_letters/letter.data.gz",),
}
_PIXELS = 128


def read_corpus(name: str, *most: int | None) -> list[list[Sentence]]:
    """The parts of a CoNLL corpus: word, part of speech, tag.

    Args:
        name: of the corpus: "conll2000" (training and test sentences) or "conll2002" (in Spanish;
            training, development and test sentences).
        most: how many sentences of each part are read; None for all, as where nothing is said.
    """
    parts = zip_longest(FILES[name], most)
    return [read_sentences(data_file(file), 3)[:count] for file, count in parts]


@dataclass(frozen=True)
class Letters:
    """Handwritten words.

    Attributes:
        pixels: 1 where ink is, (letters, 128), words laid end to end.
        names: the letters.
        starts: where each word starts, and the end of the last, (words + 1,).
        folds: the fold of each word, 0 to 9, (words,).
    """

    pixels: NDArray[np.float64]
    names: list[str]
    starts: NDArray[np.int64]
    folds: NDArray[np.int64]


def letters() -> Letters:
    """The words of the handwriting data (Kassel 1995; Taskar et al. 2003).

    Raises:
        InputError: the file is missing, or its rows are not 6 columns and 128 pixels.
    """
    path = data_file(FILES["letters"][0])
    try:
        rows = [line.split(maxsplit=6) for line in read_text(path, f"file {path}").splitlines()]
        word = np.array([int(row[3]) for row in rows])
        fold = np.array([int(row[5]) for row in rows])
        inks = ["".join(row[6].split()) for row in rows]
        if any(len(one) != _PIXELS or one.strip("01") for one in inks):
            raise ValueError(len(rows))
        ink = np.frombuffer("".join(inks).encode(), np.uint8).reshape(-1, _PIXELS)
        pixels = (ink == ord("1")).astype(np.float64)
    except FsmeuError:
        raise
    except (ValueError, IndexError):
        must = f"each row must have 6 columns and {_PIXELS} pixels"
        raise InputError(f"file {path}", must) from None
    begins = np.flatnonzero(np.concatenate([[True], word[1:] != word[:-1]]))
    starts = np.concatenate([begins, [len(rows)]]).astype(np.int64)
    return Letters(pixels, [row[1] for row in rows], starts, fold[begins])


_LETTER_BITS = 16


def handwriting(small: bool, sizes: Sizes, held_out: bool = False) -> Iterator[Split]:
    """The ten folds, or the first one with fewer words, which are drawn.

    With ``held_out``, a part of the training data of the first fold, and the rest of it to predict:
    for the small task a fifth of the training fold, for the large one a tenth.
    """
    data = letters()
    names = [data.names[a:b] for a, b in pairwise(data.starts.tolist())]
    whole = Part(_pixel_features(data.pixels, data.starts), names)
    counts = sizes.of(60)
    random = np.random.default_rng(0)
    for fold in range(10):
        inside, outside = np.flatnonzero(data.folds == fold), np.flatnonzero(data.folds != fold)
        parts = [inside, outside] if small else [outside, inside]
        for k, count in enumerate(counts):
            if count is not None:  # drawn, since the file is sorted by word
                parts[k] = np.sort(random.permutation(parts[k])[:count])
        split = Split(*(part_of(whole, one.tolist()) for one in parts), numbers=parts[1])
        yield last_part(split.train, 0.2 if small else 0.1, shuffled=True) if held_out else split
        if held_out or counts != (None, None):
            return


def _pixel_features(pixels: NDArray[np.float64], starts: NDArray[np.int64]) -> HashedSentences:
    """Sentences whose positions have pixels, (positions, pixels), and a constant.

    Most of the columns are for what was decided before.
    """
    count = len(pixels)
    shown = csr_array(np.concatenate([pixels, np.ones((count, 1))], axis=1))
    held = (shown.data.astype(np.float32), shown.indices.astype(np.int32), shown.indptr)
    matrix = csr_array(held, shape=(count, 1 << _LETTER_BITS))
    return HashedSentences(matrix, starts, np.empty((count, 0), np.uint64))


QUICK = 25
LONGEST = 400
"""Words of a training sentence. Tables of the costs of chunk F1 grow with the square of the length,
since they hold how long ago a chunk was opened. One Spanish sentence is longer, a list of 1,238
words, which is cut; the next longest has 314."""


def _bits(sentences: int) -> int:
    """The logarithm of the number of columns of hashed features.

    With 2^21 columns, one of five features of CoNLL-2000 shares its column, which costs .3 points
    of F1; few sentences need few columns.
    """
    return 16 if sentences <= 100 else 20 if sentences <= 1000 else 23


def tagged_part(sentences: Sequence[Sentence], templates: str, bits: int) -> Part:
    """Sentences whose last column is predicted from the others, by a set of templates."""
    inputs, tags = inputs_and_tags(sentences)
    return Part(templated_sentences(inputs, template_set(templates), bits, CHUNKS), tags)


def _joint_part(sentences: Sequence[Sentence], bits: int) -> Part:
    """Sentences of which parts of speech and chunk tags are predicted from the words alone."""
    words = [[row[:1] for row in one] for one in sentences]
    made = templated_sentences(words, template_set("words"), bits)
    return Part(made, [[(row[1], row[2]) for row in one] for one in sentences])


def _conll2000(make: Callable[..., Part], sizes: Sizes, held_out: bool) -> Iterator[Split]:
    train, test = read_corpus("conll2000", *sizes.of(QUICK))
    made = [make(part, bits=_bits(len(train))) for part in (train, test)]
    yield last_part(made[0]) if held_out else Split(*made)


def chunking(sizes: Sizes, held_out: bool = False) -> Iterator[Split]:
    """CoNLL-2000: 8,936 sentences to train on, 2,012 (or the last tenth of these) to predict."""
    return _conll2000(partial(tagged_part, templates="chunking"), sizes, held_out)


def joint(sizes: Sizes, held_out: bool = False) -> Iterator[Split]:
    """The same with parts of speech and chunk tags to predict."""
    return _conll2000(_joint_part, sizes, held_out)


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


def names(small: bool, sizes: Sizes, held_out: bool = False) -> Iterator[Split]:
    """CoNLL-2002, Spanish: 8,323 sentences (or the first 300) to train on, testb to predict.

    With ``held_out``, testa is predicted, the development data of the shared task.
    """
    most, tested = sizes.of(QUICK)
    train, develop, test = read_corpus("conll2002", most, tested, tested)
    train = cut_sentences(train[:300] if small else train)
    parts = (train, develop if held_out else test)
    yield Split(*(tagged_part(part, "names", _bits(len(train))) for part in parts))
