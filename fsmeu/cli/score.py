"""`fsmeu score`: decisions for a corpus against its references, by one loss or several."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from fsmeu.cli import options as opt
from fsmeu.cli import output as out
from fsmeu.cli.completion import loss_names
from fsmeu.cli.corpus import check_run, corpus_source, run_corpus
from fsmeu.cli.failures import refuse, worded
from fsmeu.cli.inputs import choose_labels, choose_params, read_loss_file, words
from fsmeu.cli.options import argument, option
from fsmeu.corpora import score
from fsmeu.corpora.records import LineError, RecordFields, blocks, format_of, read_record
from fsmeu.drawing.plots import plot_intervals, save_plot
from fsmeu.endings import SCORES, ending_of
from fsmeu.errors import FsmeuError, InputError, one_of
from fsmeu.exchange.openfst import read_constraint
from fsmeu.files import STDIN
from fsmeu.fst.alphabet import BINARY
from fsmeu.fst.tags import OTHER_TAGS
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.loss import SpecLoss, bind_loss
from fsmeu.models import calibrate as find_temperature
from fsmeu.progress import progress_bar

MOST_DRAWS = 1_000_000  # bootstrap draws: ends of intervals are known to a thousandth
_AUTO = "k=auto"
_OTHER_PLACES = "Choose other places with --gold and --system, or another loss"


@dataclass(frozen=True)
class _Decided:
    """What is scored: decisions in the corpus, and those of its models."""

    gold: str | None = option(
        "--gold WHERE",
        "The reference: a key of JSON records, or a column by number (from 1, or from -1 "
        "backwards).",
        unset="y, or column -2",
    )
    system: list[str] | None = option(
        "--system -s WHERE",
        "Decisions that the corpus holds, a key or column as for --gold; a name for them may stand "
        "before it, as in crf=3. Repeatable.",
        unset="column -1 where there is nothing else",
    )
    decide: str = option(
        "--decide A,B,...",
        "How models decide: viterbi (the most probable sequence), marginal (the most probable "
        "label of each position), meu (the best expected value of each sentence, by each loss), "
        "corpus (that of the corpus; all models are held in memory).",
        "viterbi,marginal,meu",
    )
    given: str | None = opt.GIVEN
    calibrate: str | None = option(
        "--calibrate FILE",
        "Held-out records, models and references as in CORPUS: models decide at the temperature "
        "at which these references are most probable.",
    )

    def fields(self) -> RecordFields:
        """The places of reference and decisions in a record."""
        return RecordFields(self.gold or None, tuple(dict.fromkeys(self.system or ())))


@dataclass(frozen=True)
class _Comparison:
    """How decisions are compared with a baseline."""

    baseline: str | None = option(
        "--baseline NAME", "The decision to compare others with.", unset="viterbi, or the first"
    )
    draws: int = option(
        "--draws N", "Bootstrap draws for the intervals; 0 for none.", 1000, min=0, max=MOST_DRAWS
    )
    seed: int = opt.SEED

    def chosen(self, decisions: Sequence[str]) -> str:
        """The decision to compare others with; "" where there are none."""
        if self.baseline is not None and decisions:
            return one_of("score", "baseline", self.baseline, decisions)
        return "viterbi" if "viterbi" in decisions else next(iter(decisions), "")


@dataclass(frozen=True)
class _Shown:
    """What scores are written to."""

    output: str | None = option(
        "--output -o FILE", "A .json or .csv file for the scores.", unset="tables are printed"
    )
    plot: str | None = option("--plot FILE", "Plot values and intervals (.png, .pdf or .svg).")
    as_json: bool = opt.JSON


def score_corpus(
    typed: opt.CorpusRun,
    binding: opt.Binding,
    decided: _Decided,
    comparison: _Comparison,
    shown: _Shown,
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
) -> None:
    """Score decisions for a corpus against its references, by one loss or several.

    Records have a reference ("y" in JSON lines) and a label model, or decisions of systems, or
    both. A file in columns without probabilities is read as conlleval does: the last column is
    decided, the one before it is the reference.

    The score of sentences is the mean over them; that of the corpus is taken once, of counts
    that are summed over sentences. Intervals hold 95 of 100 bootstrap draws of sentences; the
    same draws are used for all, and differences are paired.
    """
    sinks = _checked_sinks(shown)
    form = format_of(file, typed.input_format)
    check_run(typed)
    places = decided.fields()
    params = _with_k(binding.param or [], file, form, places)
    ways = _checked_ways(decided.decide)
    loaded = _load(losses, opt.Binding(params, binding.labels, binding.types))
    condition = read_constraint("--given", decided.given)
    temperature = None
    if decided.calibrate is not None:
        _check_held_out(decided.calibrate, file)
        temperature = _temperature(decided.calibrate, typed.input_format, places, condition)
    question = score.ScoreQuestion(loaded, form, places, ways, condition, temperature, by_type)
    tally = _tallied(question, typed, file)
    baseline = comparison.chosen(tally.decisions)
    draws = comparison.draws
    with progress_bar("drawing") as callback:
        rows = score.rows_of(tally, loaded, baseline, draws, comparison.seed, callback)
    facts = {
        "sentences": len(tally.n),
        "labels": sum(tally.n),
        "draws": draws,
        "seed": comparison.seed,
        "baseline": baseline,
        "params": choose_params(params),
    }
    if temperature is not None:
        facts["temperature"] = temperature
    types = {decision: score.type_scores(counts) for decision, counts in tally.types.items()}
    _show_scores(sinks, _Scores(facts, rows, types if by_type else None))


class _Sinks(NamedTuple):
    """What scores are written to, checked before the work.

    Attributes:
        file: a json or csv file; None to print them.
        as_json: whether they are printed as JSON, not as tables.
        picture: a plot; None for none.
    """

    file: Path | None
    as_json: bool
    picture: Path | None


def _checked_sinks(shown: _Shown) -> _Sinks:
    """The files to write; an InputError where one cannot be written, or --json contradicts it."""
    if shown.as_json and shown.output is not None:
        must = "scores are printed as a document by --json, or written to the file of --output"
        refuse("--json", must, "both", "Leave one out")
    file = None if shown.output is None else _checked_output(shown.output)
    picture = out.checked_picture(shown.plot, "-o FILE.csv gives the numbers")
    return _Sinks(file, shown.as_json, picture)


class _Scores(NamedTuple):
    """The scores of a corpus.

    Attributes:
        facts: sizes of the corpus, seed, baseline and so on, by name.
        rows: a score each, with the keys ``score.HEADS``.
        types: by decision and chunk type, precision and so on; None where not asked for.
    """

    facts: dict[str, Any]
    rows: list[dict[str, Any]]
    types: dict[str, dict[str, dict[str, Any]]] | None

    def document(self) -> dict[str, Any]:
        """The scores as one JSON document."""
        types = {} if self.types is None else {"types": self.types}
        return {**self.facts, "scores": self.rows, **types}


def _show_scores(sinks: _Sinks, scores: _Scores) -> None:
    """Writes or prints the scores, and plots them if asked to."""
    if sinks.file is not None:
        is_csv = ending_of(sinks.file) == "csv"
        text = _csv_text(scores.rows) if is_csv else _json_text(scores.document())
        out.write_output(sinks.file, text)
    elif sinks.as_json:
        out.print_json(scores.document())
    else:
        _print_tables(scores.facts, scores.rows)
        _print_types(scores.types or {})
    if sinks.picture is not None:
        _plot_scores(sinks.picture, scores.rows)


def _check_held_out(name: str, corpus: str) -> None:
    """Refuses to calibrate with the corpus that is scored."""
    if STDIN not in (name, corpus) and Path(name).resolve() == Path(corpus).resolve():
        refuse("--calibrate", "it must not be the corpus that is scored", name)


def _tallied(question: score.ScoreQuestion, typed: opt.CorpusRun, file: str) -> score.Tally:
    """The scores of all records of a corpus, and of decisions for it as a whole."""
    tally = score.Tally()
    try:
        with corpus_source(file) as source:
            skipped = run_corpus(question, typed, source, tally.add)["bad"]
    except FsmeuError as error:
        raise error.but(remedy=_OTHER_PLACES) if error.remedy == OTHER_TAGS else error from None
    if skipped:
        out.note(f"{len(tally.n):,} records, {skipped:,} bad ones skipped")
    if score.CORPUS in question.ways:
        _decide_whole(tally, question.losses)
    return tally


def _checked_output(name: str) -> Path:
    """The file for the scores; checked before the work."""
    place = out.file_for("--output", name)
    if ending_of(place) not in SCORES:
        must = f"it must be a file that ends in .{' or .'.join(SCORES)}"
        refuse("--output", must, name, "Rename it; --json prints a document")
    return place


def _checked_ways(decide: str) -> tuple[str, ...]:
    """The ways in which models decide."""
    ways = tuple(one_of("--decide", "each", word, score.WAYS) for word in words(decide))
    if not ways:
        refuse("--decide", f"some of {', '.join(score.WAYS)} must be given", "none")
    return ways


def _csv_text(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a csv file with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, score.HEADS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, allow_nan=False) + "\n"


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
    """The temperature at which held-out references are most probable; it is printed on stderr."""
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
                raise error.within(f"--calibrate, line {line}") from None
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
    """Adds the decisions for the whole corpus to the tally, and prints their expected values."""
    with progress_bar("deciding for the corpus") as callback:
        for name, decision in score.decide_whole(tally, losses, callback):
            if isinstance(decision, FsmeuError):
                out.note(f"{name}: {worded(decision)}")
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
    """The value of each row and, where there are draws, the ends of its interval.

    Of differences, ``kind`` is "difference_", and ``sign`` is "+", so that signs are shown.
    """
    cells = []
    for row in rows:
        value = row[kind.rstrip("_") or "value"]
        low = row[f"{kind}low"]
        high = row[f"{kind}high"]
        ends = [] if low is None else [f"{low:{sign}.4f} {high:{sign}.4f}"]
        cells += [f"{value:{sign}.4f}", *ends]
    return cells


def _print_types(types: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """A table for each decision: a line for each chunk type."""
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
