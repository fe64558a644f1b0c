"""`fsmeu score`: decisions for a corpus against its references, by one loss or several."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from fsmeu.cli import options as opt
from fsmeu.cli import output as out
from fsmeu.cli.completion import loss_names, one_word_of
from fsmeu.cli.corpus import check_run, corpus_source, run_corpus
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import choose_labels, choose_params, read_loss_file, words
from fsmeu.cli.options import argument, option
from fsmeu.corpora import score
from fsmeu.corpora.records import LineError, RecordFields, blocks, format_of, read_record
from fsmeu.drawing.plots import plot_intervals, save_plot
from fsmeu.errors import InputError, one_of
from fsmeu.exchange.openfst import read_constraint
from fsmeu.files import STDIN
from fsmeu.fst.alphabet import BINARY
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.loss import SpecLoss, bind_loss
from fsmeu.models import calibrate as find_temperature

MOST_DRAWS = 1_000_000  # bootstrap draws: ends of intervals are known to a thousandth
_FORMS = ("json", "csv")
_AUTO = "k=auto"
_LABELS_ADVICE = re.compile(r"Give types=.*?\.(?= |$)")
_OTHER_PLACES = "Choose other places with --gold and --system, or another loss."


def score_corpus(
    typed: opt.CorpusRun,
    binding: opt.Binding,
    losses: list[str] = argument(
        "LOSS",
        "What to score by, and to decide for: built-in losses or paths of loss files. A parameter "
        "of -p is for those that have it; -p k=auto takes half the mean segment of the references.",
        complete=loss_names,
    ),
    file: str = argument(
        "FILE", "JSON lines or sentences in columns, gzipped or not; - for standard input."
    ),
    by_type: bool = option("--by-type", "Also precision, recall and F1 of each chunk type."),
    gold: str | None = option(
        "--gold WHERE",
        "The reference: a key of JSON records, or a column by number (from 1, or from -1 "
        "backwards) or name.",
        unset="y, or column -2",
    ),
    system: list[str] | None = option(
        "--system -s WHERE",
        "Decisions that the corpus holds, a key or column as for --gold. Repeatable.",
        unset="column -1 where there is nothing else",
    ),
    columns: str | None = option("--columns A,B,...", "Names for the columns, from the first on."),
    decide: str = option(
        "--decide A,B,...",
        "How models decide: viterbi (the most probable sequence), marginal (the most probable "
        "label of each position), meu (the best expected value of each sentence, by each loss), "
        "corpus (that of the corpus; all models are held in memory).",
        "viterbi,marginal,meu",
    ),
    given: str | None = opt.GIVEN,
    calibrate: str | None = option(
        "--calibrate FILE",
        "Held-out records, models and references as in CORPUS: models decide at the temperature "
        "at which these references are most probable.",
    ),
    baseline: str | None = option(
        "--baseline NAME", "The decision to compare others with.", unset="viterbi, or the first"
    ),
    draws: int = option(
        "--draws N", "Bootstrap draws for the intervals; 0 for none.", 1000, min=0, max=MOST_DRAWS
    ),
    seed: int = opt.SEED,
    output: str | None = option(
        "--output -o FILE", "A .json or .csv file for the scores; - for standard output."
    ),
    form: str | None = option(
        "--format -f NAME",
        "json or csv.",
        unset="by the ending of -o; a table without it",
        autocompletion=one_word_of(*_FORMS),
    ),
    plot: str | None = option("--plot FILE", "Plot values and intervals (.png, .pdf or .svg)."),
    as_json: bool = opt.JSON,
) -> None:
    """Score decisions for a corpus against its references, by one loss or several.

    Records have a reference ("y" in JSON lines) and a label model, or decisions of systems, or
    both. A file in columns without probabilities is read as conlleval does: the last column is
    decided, the one before it is the reference.

    The score of sentences is the mean over them; that of the corpus is taken once, of counts
    that are summed over sentences. Intervals hold 95 of 100 bootstrap draws of sentences; the
    same draws are used for all, and differences are paired.
    """
    if as_json and (form, output) != (None, None):
        must = "--json prints a document; a file or a format is given by --output and --format"
        refuse("--json", must, "both", "Leave one out")
    written, place = _checked_form("json" if as_json else form, output)
    picture = out.checked_picture(plot, "--format csv gives the numbers")
    kind = format_of(file, typed.input_format)
    check_run(typed)
    if columns is not None and kind != "conll":
        refuse("--columns", "it is for a corpus in columns", kind)
    places = RecordFields(
        gold or None, tuple(dict.fromkeys(system or ())), tuple(words(columns or ""))
    )
    params = _with_k(binding.param or [], file, kind, places)
    ways = tuple(one_of("--decide", "each", word, score.WAYS) for word in words(decide))
    if not ways:
        refuse("--decide", f"some of {', '.join(score.WAYS)} must be given", "none")
    loaded = _load(losses, opt.Binding(params, binding.labels, binding.types))
    condition = read_constraint("--given", given)
    temperature = None
    if calibrate is not None:
        if STDIN not in (calibrate, file) and Path(calibrate).resolve() == Path(file).resolve():
            refuse("--calibrate", "it must not be the corpus that is scored", calibrate)
        temperature = _temperature(calibrate, typed.input_format, places, condition)
    question = score.ScoreQuestion(loaded, kind, places, ways, condition, temperature, by_type)
    tally = score.Tally()
    try:
        with corpus_source(file) as source:
            skipped = run_corpus(question, typed, source, tally.add)["bad"]
    except InputError as error:
        raise InputError(_LABELS_ADVICE.sub(_OTHER_PLACES, str(error))) from None
    if skipped:
        out.note(f"{len(tally.n):,} records, {skipped:,} bad ones skipped")
    if "corpus" in ways:
        _decide_whole(tally, loaded)
    chosen = "viterbi" if "viterbi" in tally.decisions else next(iter(tally.decisions), "")
    if baseline is not None and tally.decisions:
        chosen = one_of("--baseline", "it", baseline, tally.decisions)
    with out.progress("drawing", draws) as tell:
        rows = score.rows_of(tally, loaded, chosen, draws, seed, lambda count: tell(advance=count))
    facts: dict[str, Any] = {"sentences": len(tally.n), "labels": sum(tally.n), "draws": draws}
    facts |= {"seed": seed, "baseline": chosen, "params": choose_params(params)}
    facts |= {} if temperature is None else {"temperature": temperature}
    types = {decision: score.type_scores(counts) for decision, counts in tally.types.items()}
    if written == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, score.HEADS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        out.write_output(place, text.getvalue())
    elif written == "json":
        document = {**facts, "scores": rows}
        document |= {"types": types} if by_type else {}
        out.write_output(place, json.dumps(document, allow_nan=False) + "\n")
    else:
        _print_tables(facts, rows)
        _print_types(types)
    if picture is not None:
        _plot_scores(picture, rows)


def _checked_form(form: str | None, output: str | None) -> tuple[str, Path]:
    """The format of the scores, "" for tables, and their file; checked before the work."""
    if form is not None:
        one_of("--format", "it", form, _FORMS)
    if output in (None, STDIN):
        if output is not None and form is None:
            refuse("score", "on standard output, the format must be given: --format")
        return form or "", Path(STDIN)
    place = out.file_for("--output", str(output))
    kind = form or place.suffix.lstrip(".").lower()
    if kind not in _FORMS:
        must = "it must be a file that ends in .json or .csv"
        refuse("--output", must, output, "Rename it, or add --format csv")
    return kind, place


def _with_k(params: list[str], name: str, form: str, places: RecordFields) -> list[str]:
    """The parameters, with half the mean segment of the references where k is auto."""
    if _AUTO not in params:
        return params
    if name == STDIN:
        must = "references are read twice for k=auto, so the corpus must be a file"
        refuse("--param", must, "standard input")
    with corpus_source(name) as source:
        items = (read_record(r, form, places) for block in blocks(source, form) for r in block)
        golds = [BINARY.encode(item.gold, "gold, k=auto") for item in items]
    # A row of n slots, 1 for a boundary, has n + 1 units and one segment more than boundaries.
    mean = Fraction(sum(len(y) + 1 for y in golds), max(1, sum(int(y.sum()) + 1 for y in golds)))
    k = max(1, int(mean / 2 + Fraction(1, 2)))
    out.note(f"k = {k}, half the mean segment of {float(mean):.6g} units")
    return [f"k={k}" if text == _AUTO else text for text in params]


def _temperature(
    name: str, chosen_form: str | None, places: RecordFields, condition: object
) -> float:
    """The temperature at which the references of held-out records are most probable; it is told."""
    if name == STDIN:
        refuse("--calibrate", "held-out records must be in a file", "standard input")
    form = format_of(name, chosen_form)
    models = []
    references = []
    with corpus_source(name) as source:
        for record in (r for block in blocks(source, form) for r in block):
            try:
                item = read_record(record, form, places, condition)
            except InputError as error:
                line = error.line if isinstance(error, LineError) else record.line
                text = f"--calibrate, line {line}: {error}"
                raise InputError(text) from None
            if item.model is None:
                refuse("--calibrate", "each record must have a model", f"none in line {item.line}")
            models.append(item.model)
            references.append(item.gold)
    found = find_temperature(models, references, skip_impossible=True)
    left_out = f", {found.skipped:,} impossible ones left out" if found.skipped else ""
    records = f"{len(models):,} held-out records{left_out}"
    gain = f"log-likelihood {found.before:.6g}, then {found.log_likelihood:.6g}"
    out.note(f"temperature {found.temperature:.4f} of {records}: {gain}")
    return found.temperature


def _load(names: Sequence[str], binding: opt.Binding) -> tuple[tuple[str, SpecLoss], ...]:
    """The losses by name, each with those of the parameters that it has."""
    specs = {name: _read_spec(name) for name in names}
    params = choose_params(binding.param)
    takes = {name: {param.name for param in spec.params} for name, spec in specs.items()}
    known = set().union(*takes.values())
    loaded = []
    for name, spec in specs.items():
        # What no loss has is given to each, so that it is refused.
        others = known - takes[name]
        own = {key: value for key, value in params.items() if key not in others}
        loaded.append((name, bind_loss(spec, own, choose_labels(binding, spec.scheme))))
    return tuple(loaded)


def _read_spec(name: str) -> Spec:
    if name == STDIN:
        refuse("LOSS", "it must be a file or a built-in loss", name)
    return read_loss_file(name)


def _decide_whole(tally: score.Tally, losses: score.Losses) -> None:
    """Adds the decisions for the whole corpus, and says what is known of them."""
    with out.progress("deciding for the corpus") as tell:

        def bounds(done: float, note: str) -> None:
            tell(text=note)

        for name, decision in score.decide_whole(tally, losses, bounds):
            if isinstance(decision, str):
                out.note(f"{name}: {decision}")
            else:
                gap = "proven best" if decision.exact else f"within {decision.gap:.1g}"
                out.note(f"{name}: expected {decision.value:.6f}, {gap} under the models")


def _print_tables(facts: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    """A table for each loss: a line for each decision, and for its difference to the baseline."""
    out.line(f"{facts['sentences']:,} sentences, {facts['labels']:,} labels")
    for loss in dict.fromkeys(row["loss"] for row in rows):
        scores = [row for row in rows if row["loss"] == loss]
        better = "more" if scores[0]["kind"] == "utility" else "less"
        out.line(f"\n{scores[0]['kind']} {loss} ({better} is better)", style="bold")
        levels = list(dict.fromkeys(row["level"] for row in scores))
        heads = [head for level in levels for head in (level, "95%")[: 1 + (facts["draws"] > 0)]]
        decided: dict[str, list[dict[str, Any]]] = {}
        for row in scores:
            decided.setdefault(row["decision"], []).append(row)
        cells = [[name, *_cells(side)] for name, side in decided.items()]
        if len(decided) > 1:
            cells += [[], [f"minus {facts['baseline']}:"]]
        for name, side in decided.items():
            if side[0]["difference"] is not None:
                cells += [[f"  {name}", *_cells(side, "difference_", "+")]]
        out.emit(cells, ("decision", *heads), right=heads)
        if "corpus" not in levels:
            out.note(f"{loss}: no corpus score: not a function of summed counts")


def _cells(rows: Sequence[dict[str, Any]], kind: str = "", sign: str = "") -> list[str]:
    cells = []
    for row in rows:
        value, low, high = (row[kind.rstrip("_") or "value"], row[f"{kind}low"], row[f"{kind}high"])
        ends = [] if low is None else [f"{low:{sign}.4f} {high:{sign}.4f}"]
        cells += [f"{value:{sign}.4f}", *ends]
    return cells


def _print_types(types: dict[str, dict[str, dict[str, Any]]]) -> None:
    heads = ("precision", "recall", "F1", "given", "predicted")
    for decision, kinds in types.items():
        out.line(f"\nchunks of {decision} by type", style="bold")
        rows = [
            (kind, *(f"{row[name]:.4f}" for name in heads[:3]), *(f"{row[n]:,}" for n in heads[3:]))
            for kind, row in kinds.items()
        ]
        out.emit(rows, ("type", *heads), right=heads)


def _plot_scores(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes the plot: a panel for each loss, a line for each decision and level."""
    panels: dict[str, Any] = {}
    for row in rows:
        panel = panels.setdefault(f"{row['kind']} {row['loss']}", {})
        panel.setdefault(row["level"], {})[row["decision"]] = row["value"], row["low"], row["high"]
    if not panels:
        refuse("--plot", "there must be a score to plot", "none")
    most = max(len(rows) for series in panels.values() for rows in series.values())

    def plot(*axes: Any) -> None:
        for ax, (title, series) in zip(axes, panels.items(), strict=True):
            plot_intervals(series, ax, title)

    save_plot(path, plot, (6.4, len(panels) * (1.1 + 0.4 * most)), (len(panels), 1))
