"""A page of losses, each from its file: definition, use, pictures, properties and growth."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from fsmeu.checking.exact_methods import Applies, exact_methods
from fsmeu.checking.examples import ExampleResult, labels_in, run_examples
from fsmeu.checking.facts import facts, measured_with, selected_sizes
from fsmeu.checking.growth import Growth
from fsmeu.checking.report import Report, loss_to_measure, report
from fsmeu.drawing.draw import Drawing, draw
from fsmeu.drawing.formats import svg
from fsmeu.drawing.pages import Page, explore, page
from fsmeu.drawing.picture import MASS, Box, Line, Picture, Shape
from fsmeu.errors import FsmeuError, visible
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.language.expressions import WORDS
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.loss import SpecLoss, bind_loss, library
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.machine.minimize import same_values
from fsmeu.losses.protocol import evaluate
from fsmeu.losses.sum_over_paths import compile_summed

_DRAWN, _SUMMED = 14, 10  # the most states of machines that are drawn
_EXPLORED = (4, 3, 2, 1)
_WIDE, _HIGH = 132.0, 66.0  # a thumbnail
_GROUPS = {
    "table": "Counts of the confusion table",
    "chunks": "Chunks of tags",
    "sequences": "Positions, windows and states",
}
_HEADS = ("what it is", "states", "merged", "additive", "table", "exact decisions")
_SIZES = ("states", "merged", "summed", "values")
_TOKEN = re.compile(
    rf'(?P<comment>#.*)|(?P<text>"[^"\n]*")|(?P<word>\b(?:{"|".join(WORDS)})\b)'
    r"|(?P<number>\b\d+(?:\.\d+)?\b)"
)


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One loss of the page."""

    report: Report  # its examples, properties and sizes
    methods: tuple[Applies, ...]  # the exact methods that decide for it
    pictures: tuple[tuple[str, Drawing], ...]  # drawings of its machine, with what they show
    page: Page | None = None  # a page to explore it in, or None where it cannot be measured
    anchor: str = ""  # what links to it; empty before it has its place

    @property
    def file(self) -> str:
        """The name of the file of its page, beside the gallery; empty if there is none."""
        plain = re.sub(r"[^\w-]+", "_", self.anchor)
        return f"explore-{plain}.html" if self.page is not None else ""

    @property
    def group(self) -> str:
        """The key of its section in ``_GROUPS``, by derived properties, not by its name."""
        properties = self.report.properties
        if self.report.spec.scheme:
            return "chunks"
        return "table" if properties is not None and properties.confusion else "sequences"


def exhibit(spec: Spec) -> Exhibit:
    """The exhibit of a loss file, measured and drawn."""
    checked = report(spec)
    if checked.loss is None or not checked.holds or checked.properties is None:
        return Exhibit(checked, (), ())
    return Exhibit(checked, exact_methods(checked.loss), _pictures(spec), _explored(spec))


def _explored(spec: Spec) -> Page | None:
    """The page about a loss, for the greatest of a few lengths that it can be made for."""
    for loss, n in itertools.product(_variants(spec), _EXPLORED):
        with suppress(FsmeuError):
            return explore(loss, n)
    return None


def _pictures(spec: Spec) -> tuple[tuple[str, Drawing], ...]:
    """The machine of the greatest small length, with its states merged, with its paths summed."""
    chosen = _small_machine(spec)
    if chosen is None:
        return ()
    loss, plain = chosen
    merged = loss.compile(plain.n, minimize=True)
    with_params = "".join(f", {name} = {loss.params[name]:g}" for name in _open_numbers(spec))
    pictures = [(f"as the file makes it: n = {plain.n}{with_params}", draw(loss, plain.n))]
    if 1 < merged.states < plain.states:
        caption = f"merged: {merged.states} of {plain.states} states can be told apart"
        pictures.append((caption, draw(loss, plain.n, minimize=True)))
    summed = compile_summed(loss, plain.n)
    if 1 < summed.states <= _SUMMED:
        caption = f"summed, {summed.states} states: the paths of a pair add up to its value"
        pictures.append((caption, draw(summed)))
    return tuple(pictures)


def _open_numbers(spec: Spec) -> list[str]:
    return [p.name for p in spec.params if p.default is None and p.type != "table"]


def _variants(spec: Spec) -> Iterator[SpecLoss]:
    """The loss with one chunk type, and parameters of examples, 1 and 0 last; or else defaults."""
    labels = tag_labels(["X"], spec.scheme) if spec.scheme else None
    open_names = set(_open_numbers(spec))
    bindings: dict[tuple[tuple[str, float], ...], None] = {}
    for result in run_examples(spec):
        bindings[tuple((k, v) for k, v in result.bindings.items() if k in open_names)] = None
    for params in sorted(bindings or {(): None}, key=lambda pairs: [(v <= 1, v) for _, v in pairs]):
        with suppress(FsmeuError):
            yield loss_to_measure(spec, dict(params), labels)[0]


def _small_machine(spec: Spec) -> tuple[SpecLoss, Machine] | None:
    """The longest machine that is small enough to be drawn and has more than one value."""
    for loss, n in itertools.product(_variants(spec), (3, 2, 1)):
        with suppress(FsmeuError):
            machine = loss.compile(n, max_states=_DRAWN)
            if machine.states <= _DRAWN and same_values(machine.values).max() > 0:
                return loss, machine
    return None


def anchored(exhibits: Sequence[Exhibit]) -> list[Exhibit]:
    """The exhibits with anchors: their names, numbered where several files use one."""
    by_anchor: dict[str, Exhibit] = {}
    for exhibit in exhibits:
        name = exhibit.report.spec.name
        names = (f"{name}-{k}" if k > 1 else name for k in itertools.count(1))
        anchor = next(free for free in names if free not in by_anchor)
        by_anchor[anchor] = replace(exhibit, anchor=anchor)
    return list(by_anchor.values())


def usage(spec: Spec, examples: Iterable[ExampleResult], assumed: Mapping[str, Any]) -> list[str]:
    """The use of a loss on an example, in Python and as a command; empty where none has a value.

    Examples whose values are no whole numbers come first, then those with few parameters; what has
    no default, and is not bound by an example, has an assumed value.
    """
    valid = [result for result in examples if result.holds and result.example.z]
    valid.sort(key=lambda result: (float(result.value or 0.0).is_integer(), len(result.bindings)))
    for result in valid:
        with suppress(FsmeuError):
            return _usage(spec, result, assumed)
    return []


def _usage(spec: Spec, result: ExampleResult, assumed: Mapping[str, Any]) -> list[str]:
    texts = (result.example.z, result.example.y)
    params = {**assumed, **result.bindings}
    labels = labels_in(texts, bool(spec.scheme)) if spec.labels is None else ()
    types = sorted({str(label)[2:] for label in labels} - {""}) if spec.scheme else []
    loss = bind_loss(spec, params, None if spec.scheme else labels or None, types or None)
    pair = [loss.alphabet.decode(loss.alphabet.parse(text, "usage")) for text in texts]
    name = spec.name if spec.name in library() else f"{spec.name}.loss"
    words, command = [json.dumps(name)], ["fsmeu", "evaluate", "--steps", name]
    arguments = []
    for tape in pair:
        short = all(len(str(label)) == 1 for label in tape)
        command.append(("" if short else " ").join(map(str, tape)))
        arguments.append(json.dumps("".join(map(str, tape)) if short else tape))
    for key, value in params.items():
        number = json.dumps(np.asarray(value, np.float64).tolist())
        number = re.sub(r"\.0\b", "", number)  # whole numbers without a point
        words.append(f"{key}={number}")
        command += ["-p", f"{key}={number}"]
    options: dict[str, list[Any]] = {"types": types, "labels": [] if spec.scheme else list(labels)}
    for key, chosen in options.items():
        if chosen:
            words.append(f"{key}={json.dumps(chosen)}")
            command += [f"--{key}", ",".join(map(str, chosen))]
    call = f"fsmeu.evaluate(fsmeu.load({', '.join(words)}), {', '.join(arguments)})"
    return [f"{call}  # {evaluate(loss, *pair):.6g}", shlex.join(command)]


def gallery_page(exhibits: Sequence[Exhibit], title: str = "Losses and utilities") -> str:
    """The whole page of exhibits as ``anchored`` gives them: one file that needs no network."""
    groups = {
        name: [_contents(exhibit) for exhibit in exhibits if exhibit.group == key]
        for key, name in _GROUPS.items()
    }
    values = {"title": title, "heads": _HEADS, "groups": groups, "count": len(exhibits)}
    return page("gallery.html", ("gallery.css", "picture.css"), ("gallery.js",), **values)


def _contents(exhibit: Exhibit) -> dict[str, Any]:
    """The values of the template for a loss, by name."""
    report, spec, props = exhibit.report, exhibit.report.spec, exhibit.report.properties
    orders = ["", ""] if report.growth is None else _orders(report.growth)[:2]
    additive, table = (props.additive, props.confusion) if props is not None else (False, False)
    any_model = any(method.any_model for method in exhibit.methods)
    words = [spec.name, spec.kind, spec.summary, *(method.method for method in exhibit.methods)]
    marks = {"additive": additive, "confusion table": table, "any model": any_model}
    words += [word for word, holds in marks.items() if holds]
    return {
        **vars(exhibit),
        "file": exhibit.file,
        "spec": spec,
        "usage": usage(spec, report.examples, report.assumed),
        "overview": [spec.summary, *orders, *("yes" if mark else "" for mark in (additive, table))],
        "words": " ".join(words).lower(),
        "source": _source(spec.source),
        "measured": measured_with(report),
        "facts": facts(report),
        "growth": _growth(report.growth),
        "stamp": _stamp([drawing.picture for _, drawing in exhibit.pictures]),
        "figures": [(caption, Markup(drawing.svg)) for caption, drawing in exhibit.pictures],
    }


def _orders(sizes: Growth) -> list[Markup]:
    """The orders of growth, their exponents raised."""
    orders = (getattr(sizes, name) for name in _SIZES)
    texts = (str(escape("" if order is None else str(order))) for order in orders)
    return [Markup(re.sub(r"\^(\w+)", r"<sup>\1</sup>", text)) for text in texts]


def _growth(sizes: Growth | None) -> list[list[Any]]:
    """The rows of the growth table."""
    if sizes is None or not sizes.sizes:
        return []
    rows: list[list[Any]] = [
        [f"{row[name]:,}" for name in ("n", *_SIZES)] for row in selected_sizes(sizes)
    ]
    return [*rows, ["order", *_orders(sizes)]] if sizes.states is not None else rows


def _source(source: str) -> Markup:
    """The text of a file, its words set apart."""
    text, markup, end = source.strip("\n"), Markup(""), 0
    for token in _TOKEN.finditer(text):
        word = Markup('<span class="{}">{}</span>').format(token.lastgroup, visible(token.group()))
        markup += visible(text[end : token.start()], "\n") + word
        end = token.end()
    return markup + visible(text[end:], "\n")


def _stamp(pictures: Sequence[Picture]) -> Markup:
    """The smallest picture without its words, as small as a stamp, thick enough to be seen."""
    if not pictures:
        return Markup("")
    picture = min(pictures, key=lambda p: max(p.width, 2 * p.height))
    share = min(_WIDE / picture.width, _HIGH / picture.height, 0.5)
    shapes = [bold for shape in picture.shapes if (bold := _bold(shape, share)) is not None]
    return Markup(svg(replace(picture, shapes=tuple(shapes)), share))


def _bold(shape: Shape, share: float) -> Shape | None:
    """The shape with lines that are still there when it is made smaller; no words, no tips."""
    if isinstance(shape, Box) and shape.fill != "none" and shape.line:
        return replace(shape, fill=MASS, line=max(shape.line, 0.4 / share), tip="")
    if isinstance(shape, Line):
        return replace(shape, line=max(shape.line, 0.55 / share), head=0.0, tip="")
    return None
