"""PyTorch: tensors of other shapes and kinds, and what has no value. Without it, no rows."""

import importlib.util

import fsmeu
from fsmeu.errors import InputError, LossFileError

NAMES = {"fsmeu": fsmeu}
ROWS = [
    ("asked(emissions=zeros(2, 4, 3))", InputError, "shape (B, n, 5) ... Got (2, 4, 3) instead"),
    ("asked(emissions=zeros(2, 3, 5))", InputError, "the same sequences and positions"),
    ("asked(emissions=zeros(2, 4, 5) + nan)", InputError, "emissions must be finite"),
    ("asked(emissions=zeros(2, 4, 5) - inf)", InputError, "must allow some labels"),
    ("asked(tags=zeros(2, 4).long() + 5)", InputError, "from 0 to 4. Got 5"),
    ("asked(tags=zeros(2, 4).long() - 100)", InputError, "Set the mask to False"),
    ("asked(mask=torch.tensor([[1, 1, 1, 1], [1, 0, 1, 0]]) > 0)", InputError, "one with holes"),
    ("asked(mask=torch.tensor([[1, 1, 1, 1], [0, 0, 0, 0]]) > 0)", InputError, "none in"),
    ("asked(transitions=zeros(4, 4))", InputError, "(5, 5), or by position (2, 3, 5, 5)"),
    ("asked(transitions=zeros(5, 5).double() + nan)", InputError, "transitions must be finite"),
    ('ExpectedScore(fsmeu.load("event_fscore", tolerance=1))', InputError, "defined for all"),
    ('ExpectedScore("fscore")(EMISSIONS, PLAN, zeros(2, 4) == 0)', InputError, "knows the mask"),
    ('ExpectedScore("fscore")(EMISSIONS[:1], PLAN)', InputError, "the same sequences"),
    ("ExpectedScore(BARE)(zeros(1, 2), zeros(1, 2).long())", LossFileError, "divi"),
    ('slopes_of_slopes("fscore")', InputError, "derivatives of derivatives"),
    # a corpus
    ('ExpectedScore("zero_one", corpus=True)(EMISSIONS, TAGS)', InputError, "counts over"),
    ('ExpectedScore("fscore", corpus=True).plan(TAGS).rows([0])', InputError, "belongs to all"),
    # decisions
    ('decode("fscore", torch.tensor([[nan, 0.0]]))', InputError, "must be finite"),
    ('decode("fscore", zeros(2, 3) + 0.4)', InputError, "scores before a softmax"),
    ('decode("fscore", zeros(2, 3) - 1, probabilities=True)', InputError, "from 0 to 1"),
    ("Plan.load(__file__)", InputError, "must be one that save wrote"),
]


def names():
    """What the rows use, made with PyTorch."""
    import torch

    from fsmeu.torch import ExpectedScore, Plan, decode
    from tests.torch.support import Batch

    def asked(**changes):
        """An expected score of a batch of which some parts are others."""
        batch = Batch(fsmeu.load("chunk_fscore", types=["X", "Y"]), [4, 3])
        parts = ("emissions", "tags", "mask", "transitions", "start", "end")
        given = {name: getattr(batch, name) for name in parts}
        return ExpectedScore(batch.loss)(**{**given, **changes})

    def slopes_of_slopes(name):
        """Derivatives that would be wrong: PyTorch takes ours for constants."""
        emissions = torch.zeros(1, 3, requires_grad=True)
        value = ExpectedScore(name)(emissions, torch.ones(1, 3).long())
        return torch.autograd.grad(value, emissions, create_graph=True)

    tags = torch.tensor([[0, 1], [1, 1]])
    return {
        "torch": torch,
        "zeros": torch.zeros,
        "nan": torch.nan,
        "inf": torch.inf,
        "ExpectedScore": ExpectedScore,
        "Plan": Plan,
        "decode": decode,
        "asked": asked,
        "slopes_of_slopes": slopes_of_slopes,
        "TAGS": tags,
        "EMISSIONS": torch.zeros(2, 2),
        "PLAN": ExpectedScore("fscore").plan(tags),
        "__file__": __file__,
        "BARE": fsmeu.loads("utility bare labels 0 1 count hyp when z == 1 value 1 / hyp"),
    }


if importlib.util.find_spec("torch"):
    NAMES |= names()
else:
    ROWS = []
