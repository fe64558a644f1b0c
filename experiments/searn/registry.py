"""The experiments by name, with the settings that were chosen on held-out training data.

Learners weigh mistakes by what they cost (``importance="cost"``), unless a method is named argmin.
What was found stands in ``results/daume2009.json``; ``daume2009.py table`` prints it.

Tried on held-out sentences of chunking: 2^23 columns in place of 2^21 gain some tenths of a point
of F1, a third iteration nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from fsmeu.searn.learners.linear import AveragedPerceptron, Logistic
from fsmeu.searn.learners.reductions import AllPairs, Costing, Multiclass, OneAgainstAll
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import Alternating, LeftToRight, RightToLeft, WordAtATime
from searn.measures import pair_counts
from searn.sequences import chunking, handwriting, joint, names
from searn.task import Method, Printed, Task
from searn.vine import GrowingSummary, SummarySpace, collections, own_collections, rouge_means

__all__ = ["CURVES", "TASKS", "WORDS", "WRONG_LABELS", "summaries"]

WRONG_LABELS = str(Path(__file__).with_name("wrong_labels.loss"))
"""Hamming loss as the paper has it: a wrong label costs 1, whatever the length of the sentence."""

Beams = Mapping[int, str]
COSTS = ("optimal", "sampled", "expected")

WORDS = 15
"""Of a summary of a synthetic collection."""

_BEAMS = {1: ", greedy", 10: ", beam 10"}
_GREEDY = {1: ", greedy"}
_WEIGHED = (
    ("SEARN, greedy", "SEARN, argmin, greedy"),
    ("SEARN, greedy", "SEARN, all pairs, greedy"),
    ("SEARN, optimal costs, greedy", "SEARN, sampled costs, greedy"),
    ("SEARN, optimal costs, greedy", "SEARN, expected costs, greedy"),
)
"""Pairs of rows: the same learner without weights, weighted all pairs, and other costs."""
_ONCE = {"loss": WRONG_LABELS, "iterations": 1, "folds": 1, "beta": 1.0}
_CRF = Method("CRF", "crf", {"algorithm": "lbfgs", "c2": 1.0, "max_iterations": 100}, once=True)


def _structured(history: int) -> tuple[Method, ...]:
    """Structured methods of section 5, the incremental perceptron with so many labels before."""
    collins = {"algorithm": "ap", "max_iterations": 10}
    collins_roark = {"epochs": 10, "beam": 10, "history": history}
    return (
        Method("structured perceptron", "crf", collins, once=True),
        Method("incremental perceptron", "incremental", collins_roark),
        _CRF,
    )


def _margin(penalty: float) -> Method:
    """The structured SVM with Hamming loss, of section 5.4, by the loss-augmented argmax."""
    settings = {"loss": WRONG_LABELS, "penalty": penalty, "epochs": 8}
    return Method("structured SVM", "structured svm", settings, once=True)


_PERCEPTRON = AveragedPerceptron(epochs=8)
_SVM = LinearSVC(C=0.1)
_WORD_KERNEL = SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.02)
_LETTER_KERNEL = SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.1)


def _with(base: Method, axis: str, added: str, /, **settings: Any) -> Method:
    """SEARN with other settings than the base, which are named."""
    changed = {**base.settings, **settings}
    return replace(base, name=f"SEARN, {added}", settings=changed, first=None, axis=axis)


def _learners(base: Method, alone: Method, kernel: SVC | None, beams: Beams) -> list[Method]:
    """The learners of Table 1 beside logistic regression, each alone and inside SEARN.

    Args:
        base: SEARN with logistic regression.
        alone: logistic regression for each position, whatever stands before it.
        kernel: the quadratic SVM, of which one seed is run: it takes long to predict. None where
            the examples are too many for it.
        beams: those of the quadratic SVM.
    """
    learners = {"perceptron": _PERCEPTRON, "SVM": OneAgainstAll(_SVM)}
    if kernel is not None:
        learners["quadratic SVM"] = Multiclass(kernel)
    found = []
    for name, learner in learners.items():
        settings = {**alone.settings, "learner": learner}
        once = learner is not _PERCEPTRON  # of an SVM alone, nothing is drawn
        named = f"independent, {name}"
        found.append(replace(alone, name=named, settings=settings, axis="learner", once=once))
        found.append(_with(base, "learner", name, learner=learner))
    if kernel is not None:
        found[-1] = replace(found[-1], beams=beams, once=True)
    return found


def _training_axes(base: Method, once: bool = False) -> tuple[Method, ...]:
    """Costs (section 3.2.2), the weight of a new policy (section 4), reductions (section 6.1.7).

    Costs are compared after four iterations: in the first the policy is the optimal one, so that
    all three ways to find costs agree. Beside the reductions stands the same learner that takes all
    mistakes for alike (argmin).
    """
    logistic = AllPairs(LogisticRegression(max_iter=50))
    reductions = {
        "all pairs": logistic,
        "all pairs and costing of SVMs": AllPairs(Costing(_SVM, rounds=5)),
    }
    equal = clone(base.settings["learner"]).set_params(importance="equal")
    return (
        *(_with(base, "costs", f"{one} costs", costs=one, iterations=4) for one in COSTS),
        _with(base, "beta", "beta 1", beta=1.0),
        _with(base, "beta", "beta searched", beta="search"),
        _with(base, "beta", "beta of theory", beta="theory"),
        _with(base, "reduction", "argmin", learner=equal),
        *(
            replace(_with(base, "reduction", name, learner=learner), beams=_GREEDY, once=once)
            for name, learner in reductions.items()
        ),
    )


def _quadratic_alone() -> Method:
    """The quadratic SVM for each letter alone, where SEARN with it would take hours."""
    settings = {"space": LeftToRight(history=0), **_ONCE, "learner": Multiclass(_LETTER_KERNEL)}
    return Method("independent, quadratic SVM", "searn", settings, once=True, axis="learner")


def _ocr_methods(
    learner: Any, iterations: int, past: int, kernel: SVC | None
) -> tuple[Method, ...]:
    """One letter of history, as in the paper's edge features, and several, as no chain has them."""
    common = {
        "loss": WRONG_LABELS,
        "learner": learner,
        "beta": 0.5,
        "iterations": iterations,
        "folds": 1,
    }
    alone = {"space": LeftToRight(history=0), "learner": learner, **_ONCE}
    independent = Method("independent", "searn", alone)
    base = Method("SEARN", "searn", {**common, "space": LeftToRight(history=1)}, _BEAMS, "MEMM")
    longer = {**common, "space": LeftToRight(history=past)}
    name = f"{past} letters"
    return (
        independent,
        base,
        Method(f"SEARN, {name}", "searn", longer, _BEAMS, f"MEMM, {name}"),
        *_structured(1),
        _margin(0.01),
        *_learners(base, independent, kernel, _BEAMS),
        _with(base, "order", "right to left", space=RightToLeft(history=1)),
        *_training_axes(base, once=True),  # 325 pairs of letters take long
        *_why_methods(base, independent),
    )


def _why_methods(base: Method, independent: Method) -> tuple[Method, ...]:
    """What may keep SEARN from what a conditional field reaches on handwriting, one at a time.

    The search (a beam that holds nearly all), the learner (logistic regression by L-BFGS with a
    penalty, as crfsuite's), the number of folds of roll-in, the history, features of neighbouring
    letters; and the field's own penalty. The incremental perceptron has the same features and the
    same beam as SEARN, and learns from whole words.
    """
    lbfgs = Multiclass(LogisticRegression(C=1.0, max_iter=100))
    alone = {**independent.settings, "learner": lbfgs}
    found = [
        replace(_with(base, "why", "wide beam"), beams={50: ""}, once=True),
        replace(independent, name="independent, L-BFGS", settings=alone, axis="why", once=True),
        replace(_with(base, "why", "L-BFGS", learner=lbfgs), once=True),
        replace(_with(base, "why", "4 folds", folds=4), once=True),
        replace(_with(base, "why", "2 letters", space=LeftToRight(history=2)), once=True),
        replace(_with(base, "why", "neighbours"), neighbours=True, once=True),
        replace(_CRF, name="CRF, neighbours", axis="why", neighbours=True),
    ]
    for penalty in (0.1, 10.0):
        settings = {**_CRF.settings, "c2": penalty}
        found.append(replace(_CRF, name=f"CRF, penalty {penalty:g}", axis="why", settings=settings))
    triples = {"epochs": 10, "beam": 10, "history": 2}
    found.append(
        Method("incremental perceptron, 2 letters", "incremental", triples, once=True, axis="why")
    )
    return tuple(found)


def _tag_methods(
    learner: Any, kernel: SVC | None = None, margin: tuple[Method, ...] = ()
) -> tuple[Method, ...]:
    """Word by word under chunk F1, and what is varied: the same features and learner otherwise.

    The quadratic and the structured SVM are given where examples are few enough for them.
    """
    common = {"loss": WRONG_LABELS, "learner": learner, "beta": 0.5, "iterations": 2, "folds": 2}
    words = {**common, "space": WordAtATime(history=2)}
    alone = {"space": LeftToRight(history=0), "learner": learner, **_ONCE}
    independent = Method("independent", "searn", alone)
    settings = {**words, "loss": "chunk_fscore"}
    base = Method("SEARN", "searn", settings, _BEAMS, "SEARN, iteration 0")
    by_chunk = {
        "chunk-at-a-time": learner,
        "chunk-at-a-time, perceptron": _PERCEPTRON,
        "chunk-at-a-time, SVM": OneAgainstAll(_SVM),
    }
    return (
        independent,
        base,
        Method("SEARN, Hamming loss", "searn", words, _BEAMS, "MEMM"),
        *_structured(2),
        *margin,
        *_learners(base, independent, kernel, _GREEDY),
        *(
            _with(base, "steps", name, space=ChunkAtATime(), learner=one)
            for name, one in by_chunk.items()
        ),
        replace(_with(base, "order", "right to left"), mirrored=True),
        replace(
            _with(base, "order", "right to left, perceptron", learner=_PERCEPTRON), mirrored=True
        ),
        *_training_axes(base),
    )


def _joint_methods(learner: Any) -> tuple[Method, ...]:
    """Both streams without any history, in alternation (section 6.1.4), and each stream alone."""
    space = Alternating(history=0, own_history=0, crossed_history=0)
    independent = Method("independent", "searn", {"learner": learner, **_ONCE, "space": space})
    common = {"loss": WRONG_LABELS, "learner": learner, "beta": 0.5, "iterations": 2, "folds": 2}
    base = Method("SEARN", "searn", {**common, "space": Alternating()}, _BEAMS, "MEMM")
    return (independent, base, *_structured(2), *_learners(base, independent, None, _GREEDY))


def _tag_pairs(beam: str) -> tuple[tuple[str, str], ...]:
    """SEARN beside its first iteration, Hamming loss, a conditional field, and other settings."""
    own = f"SEARN{beam}"
    others = (
        f"SEARN, iteration 0{beam}",
        f"SEARN, Hamming loss{beam}",
        "incremental perceptron",
        "structured SVM",
        "CRF",
        "independent",
        f"SEARN, right to left{beam}",
        f"SEARN, chunk-at-a-time{beam}",
    )
    return (*((own, other) for other in others), *_WEIGHED)


_WHY = (
    "SEARN, wide beam",
    "SEARN, L-BFGS, beam 10",
    "SEARN, perceptron, beam 10",
    "SEARN, SVM, beam 10",
    "SEARN, 4 folds, beam 10",
    "SEARN, right to left, beam 10",
    "SEARN, neighbours, beam 10",
    "SEARN, 2 letters, beam 10",
    "incremental perceptron",
    "incremental perceptron, 2 letters",
    "structured perceptron",
    "structured SVM",
    "CRF",
    "CRF, penalty 0.1",
    "CRF, penalty 10",
    "CRF, neighbours",
)
"""Rows of handwriting whose difference from SEARN with a beam of 10 is asked for."""


def _ocr_pairs(past: int) -> tuple[tuple[str, str], ...]:
    """SEARN beside its first iteration, no history, a conditional field; and other settings."""
    return (
        ("SEARN, greedy", "MEMM, greedy"),
        ("SEARN, greedy", "independent"),
        ("SEARN, beam 10", "CRF"),
        ("SEARN, quadratic SVM, beam 10", "independent, quadratic SVM"),
        (f"SEARN, {past} letters, beam 10", f"MEMM, {past} letters, beam 10"),
        (f"SEARN, {past} letters, beam 10", "CRF"),
        *((name, "SEARN, beam 10") for name in (*_WHY, f"SEARN, {past} letters, beam 10")),
        *_WEIGHED,
    )


_UNITS = Logistic(epochs=20, rate=0.1, dropout=0.1)


def _summary_methods(limit: int, width: int, added: str) -> list[Method]:
    """The rows of Table 2: oracles that know the references, and SEARN trained against them."""
    units = {"sentence": "extraction", "word": "vine growth"}
    common = {
        "learner": _UNITS,
        "iterations": 4,
        "beta": 0.5,
        "ties": "all",
        "folds": 2,
        "bits": 16,
    }
    found = [Method(f"first sentences{added}", "first", {"limit": limit}, once=True)]
    for unit, name in units.items():
        settings = {"unit": unit, "limit": limit}
        found.append(Method(f"oracle {name}{added}", "oracle", settings, once=True))
    for unit, name in units.items():
        space = SummarySpace(GrowingSummary(limit, unit=unit, width=width))
        first = f"SEARN {name}, iteration 0{added}"
        found.append(
            Method(f"SEARN {name}{added}", "searn", {**common, "space": space}, first=first)
        )
    return found


def summaries(folder: Path | None, limits: Sequence[int], width: int) -> Task:
    """Vine growth and sentence extraction, as in Table 2.

    Args:
        folder: of collections, see ``read_collections``; None for synthetic ones.
        limits: words of a summary, one or several.
        width: the beam of the search that tells costs in training.
    """
    named = {
        limit: "" if folder is None and limit == WORDS else f", {limit} words" for limit in limits
    }
    parts = (_summary_methods(limit, width, added) for limit, added in named.items())
    return Task(
        "summarisation",
        "vine growth and sentence extraction on synthetic collections (ROUGE-2)",
        "ROUGE-2",
        partial(*((collections, max(limits)) if folder is None else (own_collections, folder))),
        [method for part in parts for method in part],
        pairs=tuple(
            (f"SEARN vine growth{added}", f"SEARN {other}{added}")
            for added in named.values()
            for other in ("vine growth, iteration 0", "extraction")
        ),
        counts=rouge_means,
    )


_PIXELS = Logistic(epochs=12, rate=0.05, dropout=0.0)
_FEW_PIXELS = Logistic(epochs=20, rate=0.05, dropout=0.1)
_WORDS = Logistic(epochs=8, rate=0.05, dropout=0.35, min_freq=2)
_FEW_WORDS = Logistic(epochs=12, rate=0.05, dropout=0.35)

_NAMES = 8326  # pieces of the 8,323 training sentences of names, see ``cut_sentences``

TASKS = {
    task.name: task
    for task in (
        Task(
            "ocr-small",
            "handwriting, ten folds, one to train on (Hamming loss)",
            "accuracy",
            partial(handwriting, True),
            _ocr_methods(_FEW_PIXELS, 2, 5, _LETTER_KERNEL),
            {"SEARN, quadratic SVM, beam 10": Printed("accuracy", 87.6, 626)},
            _ocr_pairs(5),
        ),
        Task(
            "ocr-large",
            "handwriting, ten folds, nine to train on (Hamming loss)",
            "accuracy",
            partial(handwriting, False),
            (*_ocr_methods(_PIXELS, 4, 3, None), _quadratic_alone()),
            pairs=_ocr_pairs(3),
        ),
        Task(
            "ner-small",
            "Spanish names, CoNLL-2002, 300 sentences to train on (chunk F1)",
            "F1",
            partial(names, True),
            _tag_methods(_FEW_WORDS, _WORD_KERNEL, (_margin(0.03),)),
            {"SEARN, perceptron, greedy": Printed("accuracy", 95.9, 300)},
            _tag_pairs(", greedy"),
        ),
        Task(
            "ner",
            "Spanish names, CoNLL-2002, 8,323 sentences to train on (chunk F1)",
            "F1",
            partial(names, False),
            _tag_methods(_WORDS),
            {
                "SEARN, perceptron, greedy": Printed("accuracy", 97.67, _NAMES),
                "SEARN, beam 10": Printed("accuracy", 98.17, _NAMES),
                "SEARN, right to left, perceptron, greedy": Printed("accuracy", 97.40, _NAMES),
                "SEARN, right to left, beam 10": Printed("accuracy", 97.98, _NAMES),
            },
            _tag_pairs(", greedy"),
        ),
        Task(
            "chunking",
            "chunks, CoNLL-2000, 8,936 sentences to train on (chunk F1)",
            "F1",
            chunking,
            _tag_methods(_WORDS),
            # the CRF's 94.77 is by other features
            {"SEARN, chunk-at-a-time, beam 10": Printed("F1", 94.47, 8936)},
            _tag_pairs(", beam 10"),
        ),
        Task(
            "joint",
            "parts of speech and chunks from words, CoNLL-2000 (Hamming loss)",
            "accuracy",
            joint,
            _joint_methods(_WORDS),
            pairs=(("SEARN, beam 10", "MEMM, beam 10"), ("SEARN, beam 10", "independent")),
            counts=pair_counts,
        ),
        summaries(None, [WORDS], 20),
    )
}
"""The experiments by name."""

CURVES = ("ocr-large", "ner", "chunking", "joint")
"""Those whose curves over iterations Figure 6 shows."""
