"""Checks of tensors before anything is computed: a sentence for each fault."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from fsmeu.errors import InputError

_KINDS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


class Scores(NamedTuple):
    """Scores: emissions (B, n, L) or (tokens, L), and transitions (L, L) or (B, n - 1, L, L)."""

    emissions: Tensor
    transitions: Tensor | None


def check_emissions(where: str, emissions: Any, labels: int) -> Tensor:
    """Emissions (B, n, L); logits (B, n) of the second of two labels become scores of both."""
    if not isinstance(emissions, Tensor) or emissions.dtype not in _KINDS:
        must = "emissions must be a tensor of float64, float32, bfloat16 or float16"
        given = emissions.dtype if isinstance(emissions, Tensor) else type(emissions)
        raise InputError(where, must, given=given)
    if emissions.dim() == 2 and labels == 2:
        emissions = torch.stack([torch.zeros_like(emissions), emissions], 2)
    if emissions.dim() != 3 or emissions.shape[2] != labels:
        shapes = f"(B, n, {labels})" + (", or (B, n) of logits" if labels == 2 else "")
        must = f"emissions must have the shape {shapes}, a score for each of the loss's labels"
        raise InputError(where, must, given=tuple(emissions.shape))
    if not emissions.shape[0]:
        raise InputError(where, "a batch must have sequences", given="an empty one")
    if not emissions.shape[1]:
        must = "sequences must have tokens"
        raise InputError(where, must, given="sequences of length 0")
    return emissions


def check_probabilities(where: str, emissions: Tensor, wanted: bool) -> None:
    """Refuses emissions that are no probabilities if they are ``wanted``, else those that may be.

    Probabilities are of the second of two labels, (tokens,), or rows that sum to 1, (tokens, L).
    Scores that are all 0 say nothing of either.
    """
    rows = emissions.double()
    are = bool(((rows >= 0) & (rows <= 1)).all())
    if rows.dim() == 2:
        slack = 1e-9 + 4 * rows.shape[1] * torch.finfo(emissions.dtype).eps
        are = are and bool(((rows.sum(1) - 1).abs() <= slack).all())
    if wanted and not are:
        must = "probabilities must be from 0 to 1, and those of all labels must sum to 1"
        remedy = "Leave probabilities=True out for scores before a softmax or sigmoid"
        raise InputError(where, must, given=_shown(emissions), remedy=remedy)
    if not wanted and are and bool(rows.any()):
        must = "emissions must be scores before a softmax or sigmoid"
        remedy = "Give those; or probabilities=True where they are probabilities, and "
        remedy += "probabilities=False where they are scores"
        given = "numbers that may all be probabilities"
        raise InputError(where, must, given=given, remedy=remedy)


def log_probabilities(probabilities: Tensor) -> Tensor:
    """Scores (B, n, L) of probabilities, or of those (B, n) of the second of two labels."""
    doubles = probabilities.double()
    if doubles.dim() == 2:
        doubles = torch.stack([1 - doubles, doubles], 2)
    return doubles.log()


def check_transitions(where: str, transitions: Any, emissions: Tensor) -> Tensor:
    """Transitions (L, L) or (B, n - 1, L, L) on the device of the emissions."""
    batch, n, size = emissions.shape
    shapes = ((size, size), (batch, n - 1, size, size))
    if not isinstance(transitions, Tensor) or tuple(transitions.shape) not in shapes:
        must = f"transitions must be a tensor of shape {shapes[0]}, or by position {shapes[1]}"
        raise InputError(where, must, given=_shown(transitions))
    _check_device(where, "transitions", transitions, emissions)
    return transitions


def check_scores(where: str, name: str, scores: Any, emissions: Tensor) -> Tensor:
    """Start or end scores (L,) on the device of the emissions."""
    size = emissions.shape[2]
    if not isinstance(scores, Tensor) or tuple(scores.shape) != (size,):
        must = f"{name} must be a tensor of shape {(size,)}"
        raise InputError(where, must, given=_shown(scores))
    _check_device(where, name, scores, emissions)
    return scores


def check_lengths(where: str, mask: Any, shape: tuple[int, int]) -> Tensor:
    """The lengths (B,) of a mask (B, n), which is True at tokens and False behind them."""
    batch, n = shape
    if mask is None:
        return torch.full((batch,), n)
    if not isinstance(mask, Tensor) or tuple(mask.shape) != shape:
        must = f"the mask must be a tensor of shape {shape}, as the tags have"
        raise InputError(where, must, given=_shown(mask))
    tokens = mask != 0
    lengths = tokens.sum(1)
    if not bool((tokens == (torch.arange(n, device=mask.device) < lengths[:, None])).all()):
        must = "a mask must be True at the first tokens of a sequence and False behind them"
        remedy = "Move tokens to the front, or give holes a sequence of their own"
        raise InputError(where, must, given="one with holes", remedy=remedy)
    if not bool((lengths > 0).all()):
        row = int((lengths == 0).nonzero()[0, 0])
        must = "every sequence must have a token"
        raise InputError(where, must, given=f"none in sequence {row}")
    return lengths


def check_tags(where: str, tags: Any, mask: Any, labels: int) -> tuple[Tensor, Tensor]:
    """Label indices (B, n), 0 at padding, and lengths (B,), both on the CPU."""
    is_whole = isinstance(tags, Tensor) and not tags.is_floating_point() and not tags.is_complex()
    if not is_whole or tags.dim() != 2:
        must = "tags must be a tensor of label indices of shape (B, n)"
        raise InputError(where, must, given=_shown(tags))
    if not tags.shape[0]:
        raise InputError(where, "a batch must have sequences", given="an empty one")
    if not tags.shape[1]:
        raise InputError(where, "sequences must have tokens", given="sequences of length 0")
    lengths = check_lengths(where, mask, (tags.shape[0], tags.shape[1])).cpu()
    inside = torch.arange(tags.shape[1]) < lengths[:, None]
    known = torch.where(inside, tags.cpu().long(), 0)
    if bool(((known < 0) | (known >= labels)).any()):
        wrong = known[(known < 0) | (known >= labels)][0]
        must = f"tags must be indices of the loss's labels, from 0 to {labels - 1}"
        remedy = "Set the mask to False at tokens that do not count"
        raise InputError(where, must, given=int(wrong), remedy=remedy)
    return known, lengths


def check_results(where: str, values: Tensor, scores: Scores) -> None:
    """Refuses values that are no numbers, by what of the scores makes them so.

    Nothing is looked at while a CUDA graph is captured or a model is compiled: there, scores that
    are no numbers make values that are none.
    """
    if torch.compiler.is_compiling() or is_capturing(values):
        return
    if bool(torch.isfinite(values).all()):
        return
    check_finite(where, scores)
    forbids = any(t is not None and bool((t == -torch.inf).any()) for t in scores)
    must = "every sequence must allow some labels" if forbids else "values must be doubles"
    given = "scores of -inf that forbid all of them" if forbids else "greater ones"
    raise InputError(where, must, given=given)


def check_finite(where: str, scores: Scores) -> None:
    """Refuses scores that are nan or inf; -inf forbids labels."""
    for name, tensor in scores._asdict().items():
        if tensor is not None and bool((tensor.isnan() | (tensor == torch.inf)).any()):
            given = "nan" if bool(tensor.isnan().any()) else "inf"
            raise InputError(where, f"{name} must be finite, or -inf to forbid", given=given)


def is_capturing(tensor: Tensor) -> bool:
    """Whether work on the device of a tensor is being captured as a CUDA graph."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def _check_device(where: str, name: str, tensor: Tensor, emissions: Tensor) -> None:
    """Refuses a tensor that is on another device than the emissions."""
    if tensor.device != emissions.device:
        must = f"{name} must be on the device of the emissions, {emissions.device}"
        raise InputError(where, must, given=tensor.device)


def _shown(given: Any) -> object:
    """A tensor by its shape and type, anything else by its type."""
    if isinstance(given, Tensor):
        return f"shape {tuple(given.shape)} of {given.dtype}"
    return type(given)
