"""Input that is not right: a sentence each, never a number."""

import pytest

import fsmeu
from tests.torch.support import Batch, load, torch

from fsmeu.torch import ExpectedScore, decode  # isort: skip

INF = torch.inf


def asked(**changes):
    """Asks for an expected score, some parts being others."""
    batch = Batch(load("chunk_fscore"), [4, 3])
    parts = {
        "emissions": batch.emissions,
        "tags": batch.tags,
        "mask": batch.mask,
        "transitions": batch.transitions,
        "start": batch.start,
        "end": batch.end,
    }
    return ExpectedScore(batch.loss)(**{**parts, **changes})


FAULTS = [
    ({"emissions": torch.zeros(2, 4)}, r"emissions must have the shape \(B, n, 5\)"),
    ({"emissions": torch.zeros(2, 4, 3)}, r"Got \(2, 4, 3\) instead"),
    ({"emissions": torch.zeros(2, 4, 5).long()}, "emissions must be a tensor of float64"),
    ({"emissions": [[0.0]]}, "emissions must be a tensor of float64"),
    ({"emissions": torch.zeros(2, 3, 5)}, "the same sequences and positions"),
    ({"emissions": torch.zeros(0, 4, 5)}, "a batch must have sequences"),
    ({"emissions": torch.zeros(2, 0, 5)}, "sequences must have tokens"),
    ({"emissions": torch.full((2, 4, 5), torch.nan)}, "emissions must be finite"),
    ({"emissions": torch.full((2, 4, 5), INF)}, "emissions must be finite, or -inf"),
    ({"emissions": torch.full((2, 4, 5), -INF)}, "must allow some labels"),
    ({"tags": torch.zeros(0, 4).long()}, "a batch must have sequences"),
    ({"tags": torch.zeros(2, 0).long(), "mask": None}, "sequences must have tokens"),
    ({"tags": torch.zeros(2, 4)}, "tags must be a tensor of label indices"),
    ({"tags": torch.zeros(2).long()}, r"of shape \(B, n\)"),
    ({"tags": torch.full((2, 4), 5)}, "from 0 to 4. Got 5"),
    ({"tags": torch.full((2, 4), -100)}, "Set the mask to False"),
    ({"mask": torch.tensor([[True] * 4, [True, False, True, False]])}, "one with holes"),
    ({"mask": torch.tensor([[True] * 4, [False] * 4])}, "none in sequence 1"),
    ({"mask": torch.ones(2, 3)}, r"the mask must be a tensor of shape \(2, 4\)"),
    ({"transitions": torch.zeros(4, 4)}, r"shape \(5, 5\), or by position \(2, 3, 5, 5\)"),
    ({"transitions": torch.full((5, 5), torch.nan).double()}, "transitions must be finite"),
    ({"start": torch.zeros(4)}, r"start must be a tensor of shape \(5,\)"),
    ({"end": torch.zeros(5, 1)}, r"end must be a tensor of shape \(5,\)"),
]


@pytest.mark.parametrize(("changes", "said"), FAULTS)
def test_faults_of_tensors(changes, said):
    with pytest.raises(fsmeu.InputError, match=said):
        asked(**changes)


def test_faults_of_arguments():
    with pytest.raises(fsmeu.InputError, match="reduction must be one of mean, sum, none"):
        ExpectedScore("fscore", reduction="median")
    with pytest.raises(fsmeu.InputError, match="corpus must be True or False"):
        ExpectedScore("fscore", corpus="yes")
    with pytest.raises(fsmeu.InputError, match=r"float64 or torch\.float32"):
        ExpectedScore("fscore", sums=torch.bfloat16)
    with pytest.raises(fsmeu.InputError, match="there is no built-in loss"):
        ExpectedScore("no such loss")
    with pytest.raises(fsmeu.InputError, match="defined for all label sequences"):
        ExpectedScore(fsmeu.load("event_fscore", tolerance=1))


def test_a_plan_and_a_mask():
    batch = Batch(load("fscore"), [4, 3])
    score = ExpectedScore("fscore")
    plan = score.plan(batch.tags, batch.mask)
    with pytest.raises(fsmeu.InputError, match="knows the mask"):
        score(batch.emissions, plan, batch.mask)
    with pytest.raises(fsmeu.InputError, match="the same sequences and positions"):
        score(batch.emissions[:1], plan)


def test_values_that_a_file_does_not_have():
    """The engine says which, as everywhere."""
    text = (
        'utility bare "no answer for nothing"\nlabels 0 1\ncount hyp when z == 1\nvalue 1 / hyp\n'
    )
    with pytest.raises(fsmeu.LossFileError, match="divi"):
        ExpectedScore(fsmeu.loads(text))(torch.zeros(1, 2), torch.zeros(1, 2).long())


@pytest.mark.parametrize(
    ("emissions", "said"),
    [
        (torch.tensor([[torch.nan, 0.0]]), "must be finite"),
        (torch.zeros(0, 3), "a batch must have sequences"),
        (torch.zeros(2, 0), "sequences must have tokens"),
        (torch.zeros(2, 3, 3), r"\(B, n, 2\), or \(B, n\) of logits"),
    ],
)
def test_faults_of_decisions(emissions, said):
    with pytest.raises(fsmeu.InputError, match=said):
        decode("fscore", emissions)
