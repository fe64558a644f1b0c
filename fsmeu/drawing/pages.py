"""Pages to look around in: a drawing, or a loss with the tables that its recurrences run on.

Nothing that came from outside is ever part of a script: names are text, or data that is read as
JSON. The policy of a page allows just its script and style, and no connection at all.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from fsmeu.drawing.draw import Drawing, draw
from fsmeu.drawing.formats import script_json, xml_text
from fsmeu.errors import (
    Argument,
    InputError,
    SizeLimitError,
    as_whole,
    check_int,
    shorten,
    visible,
    wording,
)
from fsmeu.files import write_file
from fsmeu.fst.tags import KINDS, Tags, is_tag, tag_parts
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.protocol import Loss, LossLike, as_loss
from fsmeu.models import Bernoulli, Independent


def fill(template: str, **values: Any) -> str:
    """The text of a template with values put in; those that are markup stay so."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    """The templates of ``assets``; what is put in is escaped."""
    loader = PackageLoader("fsmeu.drawing", "assets")
    return Environment(
        loader=loader, autoescape=True, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )


def _shown(value: Any) -> Any:
    """What a template shows of a value: markup as it is, else visible text."""
    return value if isinstance(value, Markup) else visible(value)


def _digest(text: str) -> str:
    """The hash of a script or style as a page's policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


MOST_TRIED = 4096
_LIMIT = 150
_PLAIN = 60  # states up to which a machine is drawn as it is; larger ones are drawn merged
_MOST_STEPPED = 4000  # states behind the steps of a pair, when the picture is merged
_MOST_LABELS = 40
_LONGEST = 1000
_FIRST = (0.7, 0.4, 0.6, 0.3)
_CHUNKS = {"z": ("BIS", "IE", "O"), "y": ("BIS", "O")}  # kinds of tags that take turns


@dataclass(frozen=True, repr=False)
class Page:
    """A page; a notebook shows it inside a frame of its own."""

    html: str
    name: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page."""
        return write_file(path, self.html)

    def __repr__(self) -> str:
        """Names the loss and the size; ``save`` writes the page."""
        return f"<page about {shorten(self.name)}: {len(self.html):,} characters>"

    def _repr_html_(self) -> str:
        escaped = html.escape(self.html, quote=True)
        return (
            f'<iframe srcdoc="{escaped}" sandbox="allow-scripts" title="{xml_text(self.name)}" '
            'width="100%" height="680" frameborder="0"></iframe>'
        )


def explore(
    loss: LossLike, n: int = 4, *, probs: Sequence[float] | None = None, limit: int = _LIMIT
) -> Page:
    """A page in which a loss can be looked at, walked through and tried out.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        n: the greatest length of sequences; lengths 1, ..., n can be chosen in the page.
        probs: for two labels, the probability of the second at each position, to begin with.
        limit: up to how many states are drawn. Of machines with more than 60 states, those are one
            that no continuation can tell apart.

    Raises:
        SizeLimitError: a machine has more states, or there are more than 40 labels.
    """
    loss = as_loss(loss, "explore")
    longest = as_whole(n, least=1)
    if longest is None or longest > _LONGEST:
        must = f"n must be a whole number of at least 1, at most {_LONGEST:,}"
        raise InputError("explore", must, given=n)
    limit = check_int("explore", "limit", limit)
    if len(loss.alphabet) > _MOST_LABELS:
        must = f"at most {_MOST_LABELS} labels can be shown"
        raise SizeLimitError("explore", must, given=f"{len(loss.alphabet)} labels")
    # The longest first: what is too large is said at once.
    machines = [_machine(loss, length, limit) for length in range(longest, 0, -1)][::-1]
    labels = [str(label) for label in loss.alphabet.labels]
    spec = getattr(loss, "spec", None)
    scheme = (spec.scheme if spec is not None else "") or _scheme_of(labels)
    data = {
        "kind": loss.kind,
        "labels": labels,
        "shown": [visible(label) for label in labels],
        "mostTried": MOST_TRIED,
        "weights": _weights(probs, len(labels), longest),
        "more": labels.index("O") if scheme else 0,
        "machines": [{**x, "first": _first_pair(labels, x["n"], scheme)} for _, x in machines],
    }
    summary = spec.summary if spec is not None else ""
    pictures = [drawing for drawing, _ in machines]
    return Page(_page(f"{loss.kind} {loss.name}", summary, data, pictures), loss.name)


def picture_page(drawing: Drawing) -> str:
    """A drawing as a page to move, zoom and search in."""
    size = f"{drawing.automaton.states:,} states, {drawing.automaton.arcs:,} arcs"
    return _page(drawing.picture.title, size, {}, [drawing])


def _page(title: str, summary: str, data: dict[str, Any], pictures: Sequence[Drawing]) -> str:
    """The text of a page: one file with its style, script, data and pictures inside."""
    style = _assets("page.css", "picture.css")
    script = f'"use strict";(() => {{\n{_assets("machine.js", "picture.js", "explore.js")}}})();'
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return fill(
        "page.html",
        policy=policy,
        style=Markup(style),
        script=Markup(script),
        title=title,
        summary=summary,
        live=bool(data),
        data=Markup(script_json(data)),
        pictures=[Markup(drawing.svg) for drawing in pictures],
    )


def _assets(*names: str) -> str:
    """The texts of files in ``assets``, one after the other."""
    folder = files("fsmeu.drawing") / "assets"
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def _weights(probs: Sequence[float] | None, labels: int, n: int) -> list[list[float]]:
    """The probabilities of the sliders: one for two labels, else one for each label."""
    if labels != 2:
        if probs is not None:
            must = "probabilities to begin with can be given for two labels"
            raise InputError("explore", must, given=f"{labels} labels")
        return [list(map(float, row)) for row in (np.eye(labels) + 1.0) / (labels + 1)]
    probabilities = Bernoulli(_FIRST if probs is None else probs).p
    if probs is not None and len(probabilities) != n:
        must = f"there must be a probability for each of n = {n} positions"
        raise InputError("explore", must, given=probs)
    return [[float(p)] for p in probabilities]


def _machine(loss: Loss, n: int, limit: int) -> tuple[Drawing, dict[str, Any]]:
    """The machine of one length: its picture, and the tables that the page computes with.

    A large machine is merged. Then the tables are those of the merged one, which gives every pair
    the same value; beside them are those of the machine itself, for the registers of each step.
    """
    stepped = max(limit, _MOST_STEPPED)
    must = f"a machine may have at most {limit:,} states"
    remedy = wording("Use a smaller ", Argument("n"), ", or raise ", Argument("limit"))
    got = f"more for length {n}"
    too_large = SizeLimitError(f"explore {loss.name}", must, given=got, remedy=remedy)
    try:
        plain = loss.compile(n, None, stepped)
        merged = loss.compile(n, None, stepped, minimize=True) if plain.states > _PLAIN else plain
    except SizeLimitError as error:
        raise too_large from error
    if merged.states > limit:
        raise too_large
    drawing = draw(loss, n, limit=limit, minimize=merged is not plain, max_states=stepped)
    data = {"n": n, **_tables(merged)}
    automaton = drawing.automaton
    if merged is not plain:
        automaton = draw(loss, n, max_states=stepped).automaton
        data["plain"] = _tables(plain)
        data["note"] = (
            f"{merged.states:,} states stand for {plain.states:,}: states that nothing that "
            "follows can tell apart are drawn as one."
        )
    names = list(automaton.registers)
    states = range(automaton.states)
    data["registers"] = [visible(name) for name in names]
    data["held"] = [[visible(automaton.register_text(r, s)) for r in names] for s in states]
    return drawing, data


def _tables(machine: Machine) -> dict[str, Any]:
    """Next states and values, for the page's own recurrences."""
    values = [None if np.isnan(value) else float(value) for value in machine.values]
    return {"start": 0, "next": machine.next.ravel().tolist(), "values": values}


def _scheme_of(labels: Sequence[str]) -> str:
    """The scheme of which all labels are tags, O among them; empty if there is none."""
    tags = [label for label in labels if label != "O"]
    schemes = (name for name, kinds in KINDS.items() if all(is_tag(tag, kinds) for tag in tags))
    return next(schemes, "") if 0 < len(tags) < len(labels) else ""


def _first_pair(labels: Sequence[str], n: int, scheme: str) -> dict[str, list[int]]:
    """The numbers of the labels of z and of y that a page shows first.

    z begins with the last label, and y alternates. Where labels are tags of a scheme, both are well
    formed: the most probable sequences that it allows, of chunks of two labels in z and one in y.
    """
    last = len(labels) - 1
    if not scheme:
        return {
            "z": [last if 2 * i < n else 0 for i in range(n)],
            "y": [last if i % 2 == 0 else 0 for i in range(n)],
        }
    kind = next(tag_parts(label)[1] for label in labels if label != "O")
    pair = {}
    for tape, wanted in _CHUNKS.items():
        weights = np.full((n, len(labels)), 1.0)
        for i, label in product(range(n), labels):
            fits = label[0] in wanted[i % len(wanted)] and label in ("O", f"{label[0]}-{kind}")
            weights[i, labels.index(label)] = 8.0 if fits else 2.0 if label == "O" else 1.0
        model = Independent(weights / weights.sum(axis=1, keepdims=True), labels)
        allowed = model.given(Tags(scheme))
        pair[tape] = [labels.index(str(label)) for label in allowed.most_probable()[0][0]]
    return pair
