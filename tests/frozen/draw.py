"""Frozen problems: number i is always the same, whatever was drawn before.

A problem that took too long, or was too large, is drawn again, shorter: its attempt is stored with
its answer. So is a fingerprint, by which a problem is known to be what it was.
"""

import hashlib
import json
import random
import re
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

import fsmeu
from tests.frozen.losses import BINARY, VERY_MANY, FrozenLoss, draw_loss
from tests.label_models import ModelSpec, plain, plain_model, random_model

QUESTIONS = {
    "expect": 18,
    "decode": 24,
    "decode with a constraint": 10,
    "decode with k": 8,
    "decode with augment": 7,
    "decode_many": 7,
    "decode_corpus": 7,
    "expect_corpus": 6,
    "value_and_gradient": 6,
    "CostOracle": 7,
}
"""How many of a hundred problems ask what."""
SPANS = {(0, 8): 50, (9, 25): 25, (26, 60): 16, (300, 300): 5, (2_000, 2_000): 2}
SPANS |= {(100_000, 100_000): 2}
"""How many of a hundred problems have a length between these."""
SHORTER = 4
"""How many times shorter each attempt is than the one before."""
BUDGET = 300
"""Candidates of a search, so that most take less than a second."""
CORPORA = ("decode_corpus", "expect_corpus")
HMM_KINDS = ("nbest", "mixture", "hmm", "acceptor")
SMOOTH = ("independent", "markov", "potentials")
"""Models that have a gradient, beside those of independent binary labels."""


@dataclass(frozen=True)
class FrozenConstraint:
    """A constraint, and the regular expression of Python that says the same.

    Attributes:
        call: a function of ``fsmeu.constraints``, "" for a regular expression of the package.
        arguments: what it is called with, or the expression.
        pattern: the expression of Python, where label k is the letter number k.
    """

    call: str
    arguments: list
    pattern: str

    def build(self):
        """The constraint as the package takes it."""
        return (
            getattr(fsmeu.constraints, self.call)(*self.arguments) if self.call else self.arguments
        )

    def allows(self, indices):
        """Whether a sequence of indices of labels satisfies it, by Python's reading."""
        return re.fullmatch(self.pattern, "".join(chr(97 + k) for k in indices)) is not None


@dataclass(frozen=True)
class FrozenModel:
    """A label model that is not yet built, and the temperature that it is taken to, if any."""

    spec: ModelSpec
    temperature: float | None = None

    @property
    def n(self):
        return self.spec.n

    def build(self):
        """The model of the package."""
        model = self.spec.build()
        heat = self.temperature
        return model if heat is None else fsmeu.models.tempered(model, heat)

    def content(self):
        """What it is made of, as nested lists of numbers and texts."""
        return [self.temperature, *_content(self.spec)]


@dataclass(frozen=True, eq=False)
class Problem:
    """A question about a loss.

    Attributes:
        number: which problem it is.
        attempt: how often it was drawn shorter.
        question: one of QUESTIONS.
        loss: the loss.
        models: the label models; one, or several for questions about many; with the option
            ``against`` the second one stands for a hypothesis.
        zs: a label sequence for each model: hypotheses, references of an oracle, or to augment by.
        options: what else the question needs.
    """

    number: int
    attempt: int
    question: str
    loss: FrozenLoss
    models: tuple
    zs: tuple
    options: dict = field(default_factory=dict)

    @property
    def n(self):
        """The length of all sequences together."""
        return sum(len(z) for z in self.zs)

    @cached_property
    def fingerprint(self):
        """A hash of all that is asked; digits in which machines may differ play no part."""
        digest = hashlib.sha256()
        options = {key: getattr(x, "pattern", x) for key, x in self.options.items()}
        known = [self.question, self.loss.stored(), self.zs, options]
        digest.update(json.dumps(known, sort_keys=True).encode())
        _add(digest, [model.content() for model in self.models])
        return digest.hexdigest()[:12]


def _content(spec):
    layered = spec.parts.get("layered")
    if layered is not None:
        layers = [[x.source, x.label, x.target, x.weight] for x in layered.layers]
        return [spec.kind, layered.start, *layers, layered.final]
    parts = {**spec.parts, "models": list(map(_content, spec.parts.get("models", ())))}
    return [spec.kind, spec.n, *([key, parts[key]] for key in sorted(parts))]


def _add(digest, content):
    """Adds nested lists to a hash, arrays rounded to nine digits after the point."""
    if isinstance(content, np.ndarray):
        digest.update(repr(content.shape).encode())
        digest.update((np.round(content.astype(np.float64), 9) + 0.0).tobytes())
    elif isinstance(content, list | tuple):
        for part in content:
            _add(digest, part)
    else:
        digest.update(json.dumps(plain(content), default=str).encode())


# -- drawing --------------------------------------------------------------------------------------


def draw(number, attempt=0, loss=None):
    """A problem by number, shorter with each attempt, about the stored loss if one is given."""
    source = random.Random(f"frozen question {number}")
    [question] = source.choices([*QUESTIONS], [*QUESTIONS.values()])
    [(least, most)] = source.choices([*SPANS], [*SPANS.values()])
    n = source.randint(least, most) // SHORTER**attempt
    is_corpus = question in CORPORA
    seed = f"frozen loss {number} {attempt}"
    loss = loss or draw_loss(seed, n, for_corpus=is_corpus, plain=attempt > 1)
    drawer = _Drawer(number, attempt, loss.labels)
    return Problem(number, attempt, question, loss, *drawer.parts(question, n))


class _Drawer:
    """Draws models and sequences over the labels of a loss, and what else a question needs."""

    def __init__(self, number, attempt, labels):
        self.source = random.Random(f"frozen parts {number} {attempt}")
        self.rng = np.random.default_rng([number, attempt])
        self.labels = tuple(labels)

    def parts(self, question, n):
        """Models, sequences and options."""
        lengths = [n]
        against = question == "expect" and n <= 12 and self.source.random() < 0.15
        if question == "decode_many" or against:
            lengths = [n] * (2 if against else self.source.randint(2, 5))
        elif question in CORPORA:
            lengths = self.lengths(n)
        smooth = question == "value_and_gradient"
        kind = self.kind(max(lengths, default=0), smooth)
        mixed = not smooth and n <= 25 and self.source.random() < 0.3
        kinds = [self.kind(m) if mixed and len(lengths) > 1 else kind for m in lengths]
        models = [self.model(*pair) for pair in zip(kinds, lengths, strict=True)]
        zs = tuple(self.sequence(m) for m in lengths)
        options = {"against": True} if against else self.options(question, n, zs)
        return tuple(models), zs, options

    def lengths(self, n):
        """Lengths of sentences, n in all, about."""
        count = 1 + int(n**0.6)
        return [self.source.randint(0, 2 * n // count) for _ in range(count)]

    def kind(self, n, smooth=False):
        """A kind of model that is possible for this length."""
        is_binary = self.labels == BINARY
        if n > VERY_MANY:
            return self.source.choice(["bernoulli"] * 4 * is_binary + ["independent", "markov"])
        kinds = [*SMOOTH, *["bernoulli"] * 4 * is_binary]
        if n <= 300 and not smooth:
            kinds += HMM_KINDS[: 4 if n <= 12 else 3]
        return self.source.choice(kinds)

    def model(self, kind, n):
        """A model; those of long sequences have no rows that are certain."""
        if kind == "acceptor":
            spec = plain_model(self.rng, kind, self.labels, n)
        elif n <= 60:
            spec = random_model(self.rng, self.labels, n, (kind,))
        else:
            spec = self.long_model(kind, n)
        heat = n <= 60 and self.source.random() < 0.06
        return FrozenModel(spec, self.source.choice((0.5, 2.0, 3.0)) if heat else None)

    def long_model(self, kind, n):
        rng, size = self.rng, len(self.labels)
        even = rng.dirichlet(np.ones(size), size) * 0.95 + 0.05 / size
        if kind == "bernoulli":
            parts = {"p": rng.random(n) * self.source.choice((1.0, 0.3, 0.01))}
        elif kind == "independent":
            parts = {"probabilities": rng.dirichlet(np.ones(size), n)}
        elif kind == "markov":
            parts = {"initial": even[0], "transition": even}
        elif kind == "potentials":
            parts = {"unary": rng.normal(size=(n, size)), "pairwise": rng.normal(size=(size, size))}
        else:
            return random_model(rng, self.labels, n, (kind,))
        return ModelSpec(kind, self.labels, n, parts)

    def sequence(self, n):
        """A sequence of labels: any, mostly the first label, or every seventh another one."""
        style = self.source.randrange(3)
        size = len(self.labels)
        drawn = self.rng.integers(0, size, n)
        if style == 1:
            drawn[self.rng.random(n) < 0.8] = 0
        elif style == 2:
            drawn[np.arange(n) % 7 != 3] = 0
        return [self.labels[k] for k in drawn.tolist()]

    def options(self, question, n, zs):
        source = self.source
        if question == "decode with a constraint":
            return {"constraint": self.constraint()}
        if question == "decode with augment":
            return {"constraint": self.constraint()} if source.random() < 0.3 else {}
        if question == "decode_corpus" and source.random() < 0.2:
            return {"constraint": self.constraint()}
        if question == "decode with k":
            return {"k": source.randint(2, 6 if n <= 60 else 3)}
        if question == "CostOracle":
            length = len(zs[0])
            places = sorted(source.sample(range(length + 1), min(6, length + 1)))
            prefix = self.sequence(length)
            expected = n <= 8 and source.random() < 0.3
            return {"places": places, "prefix": prefix, "expected": expected}
        return {}

    def constraint(self):
        """What labels allow: tags of a scheme, runs, gaps, or segments of labels."""
        if self.labels[0] == "O" and self.source.random() < 0.5 and "S-X" not in self.labels:
            return _tags(self.labels)
        if self.source.random() < 0.2:
            k, at = self.source.randint(2, 3), self.source.randrange(len(self.labels))
            one = chr(97 + at)
            pattern = f"(?s:[^{one}]|{one}(?!.{{0,{k - 2}}}{one}))*"
            return FrozenConstraint("min_gap", [k, self.labels[at]], pattern)
        return self.segments()

    def segments(self):
        """A regular expression that some sequences of any length satisfy."""
        ours, theirs = [], []
        for _ in range(self.source.randint(1, 4)):
            times = self.source.choice(("", "*", "*", "?", "+"))
            few = self.source.randint(1, len(self.labels))
            chosen = self.source.sample(range(len(self.labels)), few)
            words = " ".join(f'"{self.labels[k]}"' for k in chosen)
            letters = "".join(chr(97 + k) for k in chosen)
            ours.append(f"[{words}]{times}")
            theirs.append(f"[{letters}]{times}")
        if self.source.random() < 0.7:
            place = self.source.randint(0, len(ours))
            ours.insert(place, ".*")
            theirs.insert(place, ".*")
        return FrozenConstraint("", " ".join(ours), "".join(theirs))


def _tags(labels):
    """Tags of chunks: I-X only after B-X or I-X."""
    letters = {label: chr(97 + k) for k, label in enumerate(labels)}
    free = "".join(letters[x] for x in labels if not x.startswith("I-"))
    parts = [f"[{free}]"]
    for label in labels:
        if label.startswith("I-"):
            before = letters[label] + letters.get(f"B-{label[2:]}", "")
            parts.append(f"(?<=[{before}]){letters[label]}")
    return FrozenConstraint("bio", [], f"(?:{'|'.join(parts)})*")
