"""CoNLL-2000 with a BiLSTM-CRF: likelihood, exact expected chunk F1, and decisions for it.

A network of embeddings (words in small letters, their last three letters, their shapes, parts of
speech), a bidirectional LSTM and a matrix of transitions is trained in four ways:

- likelihood, short: by the likelihood of the tags;
- likelihood: half as many epochs more of it, the learning rate falling anew;
- F1 after likelihood: the same epochs more of the exact expected chunk F1 of sentences instead;
- F1 alone: all epochs of the expected chunk F1, from the first weights on.

Test sentences are tagged by Viterbi, and (short likelihood aside) by the tags of the greatest
expected chunk F1 among well-formed ones. Chunk F1 is that of the whole test set, as conlleval
counts it; intervals hold 95 of 100 bootstrap draws of seeds and of test sentences. A seed draws the
training sentences, the first weights and the order of batches.

    .venv-torch/bin/python experiments/chunk_network.py prepare --out FOLDER
    PYTHONPATH=. python3 experiments/chunk_network.py train --data FOLDER --out RUNS
        [--sizes 300 1000 8936] [--seeds 5] [--workers 15] [--seconds 440] [--scale 1]
    .venv-torch/bin/python experiments/chunk_network.py table --data FOLDER --runs RUNS

The first writes the data as numbers, and the tables and plans of the score (the data: ``fetch.py
conll2000``). The second needs PyTorch, numpy and scipy alone, so that it runs on a machine with a
GPU where the toolkit is not installed; on a CPU it takes hours, and minutes with ``--sizes 50
--seeds 1 --workers 1``. What is not trained after ``--seconds`` is left out. The third decides,
prints the table, and writes experiments/results/chunk_network.json.

Seen, means of five seeds with 300, 1,000 and 8,936 sentences (four minutes of one H200 for all):
likelihood .8835, .9076 and .9310 by Viterbi, .8854, .9088 and .9316 decided for F1; F1 after
likelihood .8830, .9063 and .9269 by Viterbi, .8848, .9077 and .9274 decided; F1 alone .8069, .8336
and .8559 by Viterbi. Training for expected F1 brings nothing, and with all sentences it costs .0041
(.0025 to .0057 by Viterbi). F1 alone ends in networks that find noun, verb and prepositional
phrases and no others. Deciding for F1 gains .0019 (.0008 to .0029), .0011 (.0001 to .0021) and
.0005 (-.0005 to .0015).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fsmeu.torch.core import TableScore
from fsmeu.torch.plan import Plan
from fsmeu.torch.tables import ScoreTables

COLUMNS = ("word", "ending", "shape", "part")
WIDTHS = (100, 30, 20, 30)  # of embeddings
HIDDEN = 150  # of each direction
DROPOUT = 0.5
LEARNING_RATE = 2e-3
AFTER = 5e-4  # the learning rate of training that goes on from trained weights
LENGTHS = (12, 18, 24, 32, 45, 200)  # sentences up to these lengths make a group
LEAST = -20.0  # scores are stored by one byte each, the best of a position being 0, down to this
WAYS = ("likelihood, short", "likelihood", "F1 after likelihood", "F1 alone")
DRAWS = 2000
PYTHON = ".venv-torch/bin/python"  # with PyTorch: `./run test --torch` makes it


class Settings(NamedTuple):
    """How a training set of some size is gone through."""

    epochs: int
    batch: int


def settings_of(size: int) -> Settings:
    """More epochs of smaller batches where there are few sentences."""
    if size <= 300:
        return Settings(30, 16)
    return Settings(24, 32) if size <= 1000 else Settings(14, 128)


# -- the network ----------------------------------------------------------------------------------


class BiLSTMCRF(nn.Module):
    """A tagger: emissions (B, n, L) by a bidirectional LSTM, and transitions (L, L)."""

    def __init__(self, sizes: list[int], labels: int) -> None:
        super().__init__()
        tables = [nn.Embedding(size, width) for size, width in zip(sizes, WIDTHS, strict=True)]
        self.embeddings = nn.ModuleList(tables)
        self.lstm = nn.LSTM(sum(WIDTHS), HIDDEN, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(DROPOUT)
        self.emit = nn.Linear(2 * HIDDEN, labels)
        self.transitions = nn.Parameter(torch.zeros(labels, labels))

    def forward(self, columns: Tensor, lengths: Tensor) -> Tensor:
        """Emissions (B, n, L) of features (B, n, columns); lengths (B,) are on the CPU."""
        parts = [table(columns[:, :, k]) for k, table in enumerate(self.embeddings)]
        inputs = self.dropout(torch.cat(parts, 2))
        packed = nn.utils.rnn.pack_padded_sequence(
            inputs, lengths, batch_first=True, enforce_sorted=False
        )
        hidden, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=columns.shape[1]
        )
        return self.emit(self.dropout(hidden))


def log_likelihood(emissions: Tensor, transitions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
    """The logarithm of the probability of the tags, (B,); tags and mask are (B, n).

    The sum over all tags goes from left to right, and its rows are scaled to 1.
    """
    chosen = emissions.gather(2, tags[:, :, None]).squeeze(2)
    moves = transitions[tags[:, :-1], tags[:, 1:]]
    score = (chosen * mask).sum(1) + (moves * mask[:, 1:]).sum(1)
    most = emissions.amax(2, keepdim=True)
    factors = (emissions - most).exp()
    steps = (transitions - transitions.max()).exp()
    row = factors[:, 0]
    sums = [row.sum(1)]
    row = row / sums[0][:, None]
    for i in range(1, emissions.shape[1]):
        moved = (row @ steps) * factors[:, i]
        sums.append(moved.sum(1))
        row = torch.where(mask[:, i, None], moved / sums[i][:, None], row)
    logs = torch.stack(sums, 1).log() + most.squeeze(2)
    whole = (logs * mask).sum(1) + transitions.max() * mask[:, 1:].sum(1)
    return score - whole


def viterbi(emissions: Tensor, transitions: Tensor, mask: Tensor) -> Tensor:
    """The most probable tags, (B, n); what stands at padding does not matter."""
    best = emissions[:, 0]
    steps = []
    for i in range(1, emissions.shape[1]):
        values, before = (best[:, :, None] + transitions).max(1)
        inside = mask[:, i, None]
        steps.append(torch.where(inside, before, torch.arange(before.shape[1]).to(before)))
        best = torch.where(inside, values + emissions[:, i], best)
    tags = [best.argmax(1)]
    for before in reversed(steps):
        tags.append(before.gather(1, tags[-1][:, None]).squeeze(1))
    return torch.stack(tags[::-1], 1)


# -- the data as numbers --------------------------------------------------------------------------


class Sentences(NamedTuple):
    """Sentences one after another."""

    columns: NDArray[np.int32]  # the features of tokens, (tokens, columns); 0 for an unknown one
    tags: NDArray[np.int64]  # (tokens,)
    lengths: NDArray[np.int64]  # (sentences,)

    @property
    def begins(self) -> NDArray[np.int64]:
        """The first token of each sentence."""
        return np.cumsum(self.lengths) - self.lengths


class Group(NamedTuple):
    """Sentences of about the same length, on a device."""

    rows: NDArray[np.int64]  # their numbers
    columns: Tensor  # (B, n, columns)
    tags: Tensor  # (B, n); 0 at padding
    mask: Tensor  # (B, n)
    lengths: Tensor  # (B,), on the CPU
    plan: Plan | None


def padded(held: Sentences, rows: NDArray[np.int64]) -> Group:
    """Some sentences as one group on the CPU, without a plan."""
    lengths = held.lengths[rows]
    place = np.arange(lengths.max())
    mask = place < lengths[:, None]
    token = np.where(mask, held.begins[rows][:, None] + place, 0)
    columns = np.where(mask[:, :, None], held.columns[token], 0).astype(np.int64)
    tags = np.where(mask, held.tags[token], 0)
    tensors = [torch.from_numpy(one) for one in (columns, tags, mask, lengths)]
    return Group(rows, *tensors, plan=None)


def groups_of(lengths: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The numbers of sentences of each group."""
    place = np.searchsorted(LENGTHS, lengths)
    return [np.flatnonzero(place == k) for k in range(len(LENGTHS)) if (place == k).any()]


def prepare(out: Path) -> None:
    """Writes sentences as numbers, the tables of chunk F1, and a plan for each group."""
    from conll2000_crf import read, shape, tags

    import fsmeu
    from fsmeu.torch import ExpectedScore

    train = read("train")
    test = read("test")
    names = {tag for one in train + test for tag in tags(one)} - {"O"}
    loss = fsmeu.load("chunk_fscore", types=sorted({name[2:] for name in names}))
    labels = [str(label) for label in loss.labels]
    codes: list[dict[str, int]] = [{} for _ in COLUMNS]

    def numbers(word: str, part: str) -> list[int]:
        texts = (word.lower(), word[-3:], shape(word), part)
        return [own.setdefault(text, len(own) + 1) for own, text in zip(codes, texts, strict=True)]

    out.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {"labels": np.array(labels)}
    for name, sentences in (("train", train), ("test", test)):
        rows = [row for one in sentences for row in one]
        arrays[f"{name}_columns"] = np.array([numbers(row[0], row[1]) for row in rows], np.int32)
        arrays[f"{name}_tags"] = np.array([labels.index(row[2]) for row in rows])
        arrays[f"{name}_lengths"] = np.array([len(one) for one in sentences])
    np.savez_compressed(out / "sentences.npz", **arrays)
    score = ExpectedScore(loss)
    assert score.tables is not None
    score.tables.save(out / "tables.npz")
    held = sentences_of(out, "train")
    for k, members in enumerate(groups_of(held.lengths)):
        group = padded(held, members)
        plan = score.plan(group.tags, group.mask)
        assert isinstance(plan, Plan)
        plan.save(out / f"plan{k}.npz")


def sentences_of(folder: Path, name: str) -> Sentences:
    """The sentences of "train" or "test", as ``prepare`` wrote them."""
    with np.load(folder / "sentences.npz") as arrays:
        return Sentences(*(arrays[f"{name}_{field}"] for field in Sentences._fields))


def labels_of(folder: Path) -> list[str]:
    """The labels in their order."""
    with np.load(folder / "sentences.npz") as arrays:
        return arrays["labels"].tolist()


def known_columns(held: Sentences, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """For each column, the number that stands for each one: 0 for those seen less than twice."""
    is_chosen = np.zeros(len(held.lengths), bool)
    is_chosen[rows] = True
    seen = held.columns[np.repeat(is_chosen, held.lengths)]
    maps = []
    for k in range(len(COLUMNS)):
        often = np.bincount(seen[:, k], minlength=1 << 16) > 1
        often[0] = False
        maps.append(np.where(often, np.cumsum(often), 0))
    return maps


def mapped(held: Sentences, maps: list[NDArray[np.int64]]) -> Sentences:
    """Sentences whose rare features are unknown ones."""
    columns = [one[held.columns[:, k]] for k, one in enumerate(maps)]
    return held._replace(columns=np.stack(columns, 1).astype(np.int32))


def as_bytes(scores: NDArray[Any]) -> NDArray[np.uint8]:
    """Scores (tokens, L) below the best of their token, in steps that grow as they fall."""
    below = np.clip((scores - scores.max(axis=1, keepdims=True)) / LEAST, 0.0, 1.0)
    return np.round(255 * np.sqrt(below)).astype(np.uint8)


def from_bytes(stored: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The scores that ``as_bytes`` stored, but for at most .04 where they are above -5."""
    return LEAST * (stored / 255.0) ** 2


# -- training -------------------------------------------------------------------------------------


class Task(NamedTuple):
    """One training set."""

    data: Path
    size: int
    seed: int
    scale: float  # of the numbers of epochs
    until: float  # the time at which to stop


class Trained(NamedTuple):
    """What one way of training led to."""

    transitions: NDArray[np.float32]  # (L, L)
    scores: NDArray[np.uint8]  # emissions of test tokens, ``as_bytes``, (tokens, L)
    viterbi: NDArray[np.uint8]  # the most probable tags before scores are rounded, (tokens,)
    seconds: float
    objective: list[float]  # the mean of each epoch


Objective = Callable[[BiLSTMCRF, Tensor, Group], Tensor]


def likelihood(model: BiLSTMCRF, emissions: Tensor, group: Group) -> Tensor:
    """Minus the logarithm of the likelihood of a token, on average."""
    logs = log_likelihood(emissions, model.transitions, group.tags, group.mask)
    return -logs.sum() / int(group.lengths.sum())


def chunk_loss(score: TableScore) -> Objective:
    """1 - expected chunk F1 of a sentence, on average."""

    def objective(model: BiLSTMCRF, emissions: Tensor, group: Group) -> Tensor:
        assert group.plan is not None
        return 1.0 - score(emissions, group.plan, model.transitions).mean().float()

    return objective


class Part(NamedTuple):
    """A part of training."""

    objective: str
    epochs: int
    rate: float


class Trainer:
    """One training set on a device, and the ways to train with it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.labels = len(labels_of(task.data))
        whole = sentences_of(task.data, "train")
        order = np.random.default_rng(task.seed).permutation(len(whole.lengths))
        rows = np.sort(order[: task.size])
        maps = known_columns(whole, rows)
        self.sizes = [int(one.max()) + 1 for one in maps]
        self.groups = self._training_groups(mapped(whole, maps), rows)
        self.test = mapped(sentences_of(task.data, "test"), maps)
        members = groups_of(self.test.lengths)
        self.test_groups = [self._moved(padded(self.test, one)) for one in members]
        tables = ScoreTables.load(task.data / "tables.npz")
        self.objectives = {
            "likelihood": likelihood,
            "F1": chunk_loss(TableScore(tables).to(self.device)),
        }
        self.random = torch.Generator().manual_seed(task.seed)

    def _moved(self, group: Group) -> Group:
        """A group on the device."""
        moved = [one.to(self.device) for one in (group.columns, group.tags, group.mask)]
        plan = None if group.plan is None else group.plan.to(self.device)
        return Group(group.rows, *moved, group.lengths, plan)

    def _training_groups(self, held: Sentences, rows: NDArray[np.int64]) -> list[Group]:
        """The groups of drawn sentences, with the parts of plans that are theirs."""
        groups = []
        for k, members in enumerate(groups_of(held.lengths)):
            place = np.flatnonzero(np.isin(members, rows))
            if len(place):
                plan = Plan.load(self.task.data / f"plan{k}.npz").rows(torch.from_numpy(place))
                group = padded(held, members[place])
                n = group.tags.shape[1]  # the longest of those drawn may be shorter
                plan = replace(plan, kinds=plan.kinds[:n], tags=plan.tags[:, :n].contiguous())
                groups.append(self._moved(group._replace(plan=plan)))
        return groups

    def batches(self, size: int) -> Iterator[Group]:
        """All groups in batches, in random order."""
        parts = []
        for group in self.groups:
            order = torch.randperm(len(group.rows), generator=self.random)
            parts += [(group, chosen) for chosen in order.split(size)]
        for k in torch.randperm(len(parts), generator=self.random).tolist():
            group, chosen = parts[k]
            there = chosen.to(self.device)
            assert group.plan is not None
            yield Group(
                group.rows[chosen.numpy()],
                group.columns[there],
                group.tags[there],
                group.mask[there],
                group.lengths[chosen],
                group.plan.rows(there),
            )

    def train(self, model: BiLSTMCRF, part: Part) -> list[float]:
        """The mean objective of each epoch; none if time is up. The learning rate falls to 0."""
        size = settings_of(self.task.size).batch
        steps = part.epochs * sum(-(-len(group.rows) // size) for group in self.groups)
        optimizer = torch.optim.Adam(model.parameters(), lr=part.rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / steps)
        model.train()
        means = []
        for _ in range(part.epochs):
            values = []
            for group in self.batches(size):
                optimizer.zero_grad()
                loss = self.objectives[part.objective](
                    model, model(group.columns, group.lengths), group
                )
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                schedule.step()
                values.append(loss.detach())
            means.append(float(torch.stack(values).mean()))
            if time.time() > self.task.until:
                return []
        return means

    def tested(self, model: BiLSTMCRF, seconds: float, objective: list[float]) -> Trained:
        """What the model says of the test set."""
        model.eval()
        scores = np.zeros((len(self.test.tags), self.labels), np.uint8)
        tags = np.zeros(len(self.test.tags), np.uint8)
        with torch.no_grad():
            for group in self.test_groups:
                emissions = model(group.columns, group.lengths)
                found = viterbi(emissions, model.transitions, group.mask)
                inside = group.mask.cpu().numpy()
                token = self.test.begins[group.rows][:, None] + np.arange(inside.shape[1])
                scores[token[inside]] = as_bytes(emissions.cpu().numpy()[inside])
                tags[token[inside]] = found.cpu().numpy()[inside]
        transitions = model.transitions.detach().cpu().numpy()
        return Trained(transitions, scores, tags, seconds, objective)

    def fresh(self, state: dict[str, Tensor] | None = None) -> BiLSTMCRF:
        """A model with the first weights of the seed, or with these."""
        torch.manual_seed(self.task.seed)
        model = BiLSTMCRF(self.sizes, self.labels).to(self.device)
        if state is not None:
            model.load_state_dict(state)
        return model

    def way(self, model: BiLSTMCRF, *parts: Part) -> Trained | None:
        """What training by some objectives, one after another, led to; None if time was up."""
        begin = time.time()
        means: list[float] = []
        for part in parts:
            own = self.train(model, part)
            if not own:
                return None
            means += own
        return self.tested(model, time.time() - begin, means)

    def ways(self) -> Iterator[tuple[str, Trained]]:
        """Each way of training and what it led to, those that were trained in time."""
        first = max(1, round(settings_of(self.task.size).epochs * self.task.scale))
        more = -(-first // 2)
        model = self.fresh()
        short = self.way(model, Part("likelihood", first, LEARNING_RATE))
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        continued = {WAYS[2]: Part("F1", more, AFTER), WAYS[1]: Part("likelihood", more, AFTER)}
        if short is not None:
            yield WAYS[0], short
        for way, part in continued.items():
            trained = self.way(self.fresh(state), part)
            if trained is not None:
                yield way, trained
        alone = self.way(self.fresh(), Part("F1", first, LEARNING_RATE), Part("F1", more, AFTER))
        if alone is not None:
            yield WAYS[3], alone


def work(task: Task) -> tuple[Task, dict[str, Trained]]:
    """What the ways of training led to that were trained in time."""
    torch.set_num_threads(1)
    return task, dict(Trainer(task).ways())


def train(given: argparse.Namespace) -> None:
    """Trains all models, several at a time, and writes one file for each size."""
    until = time.time() + given.seconds
    sizes = sorted(given.sizes, reverse=True)
    tasks = [
        Task(given.data, size, seed, given.scale, until)
        for size in sizes
        for seed in range(given.seeds)
    ]
    arrays: dict[int, dict[str, Any]] = {size: {} for size in sizes}
    told: dict[str, Any] = {}
    with multiprocessing.get_context("spawn").Pool(min(given.workers, len(tasks))) as pool:
        for task, found in pool.imap_unordered(work, tasks):
            for way, trained in found.items():
                name = f"{task.seed}/{way}"
                arrays[task.size][f"{name}/transitions"] = trained.transitions
                arrays[task.size][f"{name}/viterbi"] = trained.viterbi
                if way != WAYS[0]:
                    arrays[task.size][f"{name}/scores"] = trained.scores
                made = {"seconds": trained.seconds, "objective": trained.objective}
                told[f"{task.size}/{name}"] = made
                last = trained.objective[-1]
                print(f"{task.size:>5} {name:<24} {trained.seconds:6.1f} s, objective {last:.4f}")
            sys.stdout.flush()
    given.out.mkdir(parents=True, exist_ok=True)
    for size, held in arrays.items():
        np.savez_compressed(given.out / f"chunks{size}.npz", **held)
    (given.out / "told.json").write_text(json.dumps(told), encoding="utf-8")


# -- decisions ------------------------------------------------------------------------------------


class Decided(NamedTuple):
    """One way of training and of deciding, for all seeds that were trained."""

    amounts: NDArray[np.float64]  # chunks that agree, found, given, (seeds, sentences, 3)
    accuracy: float
    expected: float  # mean expected F1 of sentences by the models themselves; NaN for Viterbi
    obtained: float  # mean F1 of sentences


def fscores(amounts: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 of the corpus by seed and draw, (seeds, draws); weights (draws, sentences)."""
    totals = np.einsum("ds,ksc->kdc", weights, amounts)
    return 2 * totals[..., 0] / (totals[..., 1] + totals[..., 2])


def interval(amounts: NDArray[np.float64], base: NDArray[np.float64]) -> tuple[float, float]:
    """Between which ends 95 of 100 draws of the difference lie; of seeds, and of sentences."""
    random = np.random.default_rng(0)
    seeds, sentences, _ = amounts.shape
    weights = random.multinomial(sentences, np.full(sentences, 1 / sentences), DRAWS)
    chosen = random.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS) / seeds
    lead = fscores(amounts, weights.astype(float)) - fscores(base, weights.astype(float))
    low, high = np.quantile((chosen.T * lead).sum(axis=0), [0.025, 0.975])
    return float(low), float(high)


class Table:
    """Decisions for the runs of a folder."""

    def __init__(self, data: Path, runs: Path, tested: int | None) -> None:
        import fsmeu

        self.runs = runs
        self.labels = labels_of(data)
        self.test = sentences_of(data, "test")
        self.rows = range(len(self.test.lengths))[:tested]
        types = [label[2:] for label in self.labels if label.startswith("B-")]
        self.loss = fsmeu.load("chunk_fscore", types=types)
        self.given = self._sentences(self.test.tags)

    def _sentences(self, tags: NDArray[Any]) -> list[list[str]]:
        """The tags of each sentence in words."""
        ends = self.test.begins + self.test.lengths
        places = zip(self.test.begins[self.rows], ends[self.rows], strict=True)
        return [[self.labels[k] for k in tags[begin:end]] for begin, end in places]

    def exact(
        self, scores: NDArray[np.uint8], transitions: NDArray[Any]
    ) -> tuple[list[Any], float]:
        """Tags of the greatest expected chunk F1, well-formed, and the mean of what is expected."""
        import fsmeu

        models = []
        for row in self.rows:
            begin = self.test.begins[row]
            own = from_bytes(scores[begin : begin + self.test.lengths[row]])
            moves = transitions.astype(np.float64)
            models.append(fsmeu.models.from_potentials(own, moves, labels=self.labels))
        made = fsmeu.decode_many(self.loss, models, constraint=fsmeu.constraints.bio())
        if not all(one.exact for one in made):
            raise AssertionError
        return [one.labels for one in made], float(np.mean([one.value for one in made]))

    def decided(self, size: int) -> dict[tuple[str, str], Decided]:
        """All decisions of a size, by way of training and of deciding."""
        from searn.measures import counts_of

        parts: dict[tuple[str, str], list[tuple[Any, float]]] = {}
        with np.load(self.runs / f"chunks{size}.npz") as arrays:
            for name in sorted(one for one in arrays.files if one.endswith("/viterbi")):
                key = name.rpartition("/")[0]
                way = key.partition("/")[2]
                found = counts_of(self._sentences(arrays[name]), self.given).amounts
                parts.setdefault((way, "Viterbi"), []).append((found, np.nan))
                if f"{key}/scores" in arrays.files:
                    transitions = arrays[f"{key}/transitions"]
                    tags, value = self.exact(arrays[f"{key}/scores"], transitions)
                    counted = counts_of(tags, self.given).amounts
                    parts.setdefault((way, "F1"), []).append((counted, value))
        return {place: _joined(held) for place, held in parts.items()}

    def show(self, size: int, found: dict[tuple[str, str], Decided]) -> list[dict[str, Any]]:
        """Prints the table of a size; its rows."""
        from rich.console import Console
        from rich.table import Table as Printed

        printed = Printed("trained by", "decided by", "chunk F1", "over seeds", "tags right")
        for name in ("minus likelihood, Viterbi", "minus likelihood, same decision", "expected"):
            printed.add_column(name)
        printed.title = f"{size:,} sentences, {len(next(iter(found.values())).amounts)} seeds"
        ones = np.ones((1, len(self.rows)))
        rows = []
        for way in WAYS:
            for decision in ("Viterbi", "F1"):
                if (way, decision) not in found:
                    continue
                own = found[way, decision]
                values = fscores(own.amounts, ones)[:, 0]
                row: dict[str, Any] = {"way": way, "decision": decision, "f1": values}
                row |= {"accuracy": own.accuracy, "obtained": own.obtained}
                row["expected"] = None if np.isnan(own.expected) else own.expected
                spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
                cells = [way, decision, f"{values.mean():.4f}", f"{spread:.4f}"]
                cells.append(f"{own.accuracy:.4f}")
                for name, base in (("viterbi", "Viterbi"), ("same", decision)):
                    other = found[WAYS[1], base].amounts
                    if (way, decision) == (WAYS[1], base) or len(other) != len(own.amounts):
                        cells.append("")
                        continue
                    low, high = interval(own.amounts, other)
                    lead = float((values - fscores(other, ones)[:, 0]).mean())
                    row[name] = [lead, low, high]
                    cells.append(f"{lead:+.4f} ({low:+.4f} to {high:+.4f})")
                believed = "" if row["expected"] is None else f"{own.expected:.4f}"
                cells.append(believed and f"{believed}, is {own.obtained:.4f}")
                printed.add_row(*cells)
                rows.append(row)
        Console(width=150).print(printed)
        return rows


def _joined(parts: list[tuple[Any, float]]) -> Decided:
    """The counts of all seeds."""
    amounts = np.stack([one for one, _ in parts]).astype(np.float64)
    whole = amounts[:, :, :3]
    both = whole[:, :, 1] + whole[:, :, 2]
    by_sentence = np.where(both > 0, 2 * whole[:, :, 0] / np.maximum(both, 1), 1.0)
    right = float(amounts[:, :, 3].sum() / amounts[:, :, 4].sum())
    expected = float(np.mean([value for _, value in parts]))
    return Decided(whole, right, expected, float(by_sentence.mean()))


def table(given: argparse.Namespace) -> None:
    """Decides, prints the tables, and writes what was found."""
    from result_files import save

    made = Table(given.data, given.runs, given.tested)
    sizes = sorted(int(path.stem[6:]) for path in given.runs.glob("chunks*.npz"))
    found = {size: made.show(size, made.decided(size)) for size in sizes}
    if given.tested is None:
        words = f"experiments/{Path(__file__).name} table --data FOLDER --runs RUNS"
        save("chunk_network", found, 4, f"{PYTHON} {words}")


def main() -> None:
    """Reads the command line, and does one of the three parts."""
    parser = argparse.ArgumentParser(description="CoNLL-2000 with a BiLSTM-CRF.")
    parts = parser.add_subparsers(required=True)
    one = parts.add_parser("prepare", help="the data as numbers, tables and plans")
    one.add_argument("--out", type=Path, required=True, help="folder to write to")
    one.set_defaults(do=lambda given: prepare(given.out))
    one = parts.add_parser("train", help="trains; needs PyTorch, numpy and scipy alone")
    one.add_argument("--data", type=Path, required=True, help="folder that prepare wrote")
    one.add_argument("--out", type=Path, required=True, help="folder to write to")
    one.add_argument("--sizes", type=int, nargs="+", default=[300, 1000, 8936])
    one.add_argument("--seeds", type=int, default=5)
    one.add_argument("--workers", type=int, default=15, help="processes")
    one.add_argument("--seconds", type=float, default=440.0, help="when to stop")
    one.add_argument("--scale", type=float, default=1.0, help="of the numbers of epochs")
    one.set_defaults(do=train)
    one = parts.add_parser("table", help="decides and prints the tables")
    one.add_argument("--data", type=Path, required=True, help="folder that prepare wrote")
    one.add_argument("--runs", type=Path, required=True, help="folder that train wrote")
    one.add_argument("--tested", type=int, help="the first sentences of the test set alone")
    one.set_defaults(do=table)
    given = parser.parse_args()
    given.do(given)


if __name__ == "__main__":
    from data_folder import run_script

    run_script(main)
