"""Every reader of fsmeu, and good files for it."""

import gzip
import io
import json
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

import fsmeu
from fsmeu import learning
from fsmeu.checking.exact_methods import exact_methods
from fsmeu.checking.report import loss_to_measure, report
from fsmeu.corpora import records
from fsmeu.corpora.records import read_sentences, written
from fsmeu.corpora.run import open_output
from fsmeu.exchange.openfst import read_constraint
from fsmeu.learning.examples import read_examples
from fsmeu.learning.saving import load, save
from fsmeu.losses.loss import grammar_folder, read_spec
from fsmeu.searn.column_tagger import ColumnTagger
from fsmeu.searn.features import template_set
from fsmeu.searn.searn import Searn
from tests.fst.machines import images
from tests.learning.test_saving import DEEP, ONLINE, WITHIN
from tests.searn import stubs
from tests.support import examples

X, Y = examples.X[:30], examples.Y[:30]
ROWS, TAGS = stubs.ROWS[:4], stubs.TAGS[:4]
WORDS = [[{"word": row[0], "pos": row[1]} for row in one] for one in ROWS]
COLUMNS = written(ROWS, TAGS).encode()
SEARN = {"iterations": 2, "folds": 2, "random_state": 0, "bits": 8, "loss": "hamming"}


def _corpus(path):
    form, places = records.format_of(path.name, None), records.RecordFields("")
    with records.open_corpus(path) as source:
        made = [one for block in records.blocks(source, form) for one in block]
        return [records.read_record(one, form, places).model.n for one in made]


def _tagged(path):
    made, given = load(path), ROWS if "columns" in path.name else WORDS
    return len(made.predict(given)) if _is_fitted(made, given) else 0


def _resumed(path):
    with open_output(path, resume=True) as (_, last):
        return last


def _checked(path):
    found = report(read_spec(path))
    return exact_methods(found.loss) if found.loss is not None and found.properties else ()


def _is_fitted(made, given):
    """Whether an estimator has learned something; otherwise it says so, as before ``fit``."""
    try:
        check_is_fitted(made)
    except NotFittedError:
        with pytest.raises(NotFittedError):
            made.predict(given)
        return False
    return True


def _predicted(path):
    """Predictions by one thread: a fork would wait for the threads of OpenMP, which it lacks."""
    with threadpool_limits(1, user_api="openmp"):
        made = load(path)
        if not _is_fitted(made, X[:5]):
            return ()
        has_probabilities = hasattr(made, "predict_proba")
        return made.predict(X[:5]), made.predict_proba(X[:5]) if has_probabilities else ()


def _machine(path):
    """What users do with a machine; it may be no acceptor, which is refused in a sentence."""
    machine = fsmeu.from_openfst(path)
    machine.fst.verify()  # a label that its symbol table lacks is told by OpenFst, and allowed
    fsmeu.to_openfst(machine)
    with suppress(fsmeu.FsmeuError):
        fsmeu.models.Acceptor(machine.fst, [0, 1])
    return machine.states


READERS = {
    "loss": lambda path: loss_to_measure(read_spec(path), {})[0].name,
    "check": _checked,
    "model": lambda path: fsmeu.models.from_json(path).n,
    "machine": _machine,
    "constraint": lambda path: read_constraint("--given", str(path)),
    "examples": lambda path: read_examples(str(path)).rows.shape,
    "estimator": _predicted,
    "tagger": _tagged,
    "checkpoint": lambda path: Searn(**SEARN, checkpoint=str(path)).fit(WORDS, TAGS).predict(WORDS),
    "corpus": _corpus,
    "sentences": lambda path: len(read_sentences(path)),
    "resumed": _resumed,
    "templates": lambda path: len(template_set(str(path)).static),
}
"""What reads a file, by name; each returns something small."""


def seeds(folder):
    """{reader: {name: bytes}} of good files; what begins with zeros is huge when unpacked."""
    losses = ("fscore", "hamming", "windowdiff", "chunk_fscore", "zero_one")
    grammars = {f"{n}.loss": (grammar_folder() / f"{n}.loss").read_bytes() for n in losses}
    image = fsmeu.to_openfst(fsmeu.load("fscore").compile(3))
    for ending, write in examples.WRITERS.items():
        write(folder / f"a.{ending}", X, Y)
    rows = {f"a.{ending}": (folder / f"a.{ending}").read_bytes() for ending in examples.WRITERS}
    models = _models()
    corpus = "\n".join(json.dumps({"id": k, "z": [0], **m}) for k, m in enumerate(models))
    printed = b"# a\nthe DT B:0.25 O:0.75\nman NN B:0.5 O:0.5\n\nate VBD B:0.1 O:0.9\n"
    zeros = gzip.compress(bytes(300_000_000), 1)
    np.savez_compressed(folder / "zeros.npz", X=np.zeros((10, 8_000_000), np.int8))
    bytes_as_doubles = (folder / "zeros.npz").read_bytes()
    texts = {"corpus": {"a.jsonl": corpus.encode(), "a.conll": printed}}
    texts |= {"sentences": {"a.txt": COLUMNS}, "examples": {x: rows[x] for x in ("a.svm", "a.csv")}}
    texts |= {"machine": {f"{k}.fst": image for k, image in enumerate(images())}}
    for files in texts.values():
        files |= {f"{name}.gz": gzip.compress(content) for name, content in files.items()}
    texts["examples"] |= rows | {"zeros.csv.gz": zeros, "zeros.npz": bytes_as_doubles}
    texts["corpus"] |= {"zeros.jsonl.gz": zeros}
    texts["sentences"] |= {"zeros.txt.gz": zeros}
    zeros_of_schema = io.BytesIO()
    with zipfile.ZipFile(zeros_of_schema, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 300_000_000, compresslevel=1)
        archive.comment = b"fsmeu estimator 2"
    return texts | {
        "loss": grammars,
        "check": grammars,
        "model": {f"{k}.json": json.dumps(m).encode() for k, m in enumerate(models)}
        | {"zeros.json.gz": zeros},
        "constraint": {"a.regex": b"0* (1 0 | 0 1)+ 1? 0{2,3}", "a.fst": image},
        "estimator": _saved(folder, _classifiers()) | {"zeros.skops": zeros_of_schema.getvalue()},
        "tagger": _saved(folder, _taggers()),
        "checkpoint": _checkpoint(folder),
        "resumed": {"a.out": b'{"record": 1, "z": [0]}\n{"record": 2, "z": [1]}\n'},
        "templates": {"a.templates": b"word[0]\nlower[-1] pos[0]\ncross pos[0]\n"},
    }


def _models():
    m = fsmeu.models
    chain = m.Markov([0.4, 0.6], [[0.9, 0.1], [0.5, 0.5]], n=3)
    field = m.from_potentials([[0.0, 1.0]] * 2, [[0.1, 0.2], [0.3, 0.4]])
    made = [m.Bernoulli([0.2, 0.9]), chain, m.NBest(["01", "11"], [1, 2]), field]
    made += [m.Mixture([chain, chain], [0.5, 0.5]), m.Independent([[0.2, 0.3, 0.5]], "abc")]
    return [one.to_json() for one in made]


def _classifiers():
    trees = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2)
    inner = (make_pipeline(StandardScaler(), LogisticRegression()), trees)
    made = [
        learning.DTAClassifier("fscore", one)
        for one in (*inner, RandomForestClassifier(2, random_state=0))
    ]
    made += [DEEP, *ONLINE, *(WITHIN[k] for k in (0, 1, 4))]
    fitted = {f"{k}.skops": clone(one).fit(X, Y) for k, one in enumerate(made)}
    rows = learning.ExampleWiseClassifier(estimator=LogisticRegression())
    return fitted | {"rows.skops": rows.fit(X, np.stack([Y, 1 - Y, Y], axis=1))}


def _taggers():
    field = learning.MaxExpectedUtilityTagger(likelihood_iterations=3, utility_iterations=1)
    made = {"field.skops": field.fit(WORDS, TAGS), "searn.skops": Searn(**SEARN).fit(WORDS, TAGS)}
    for space in ("word-at-a-time", "chunk-at-a-time"):
        searn = Searn(**{**SEARN, "loss": "chunk_fscore", "space": space})
        made[f"columns {space}.skops"] = ColumnTagger(searn=searn, bits=8).fit(ROWS, TAGS)
    return made


def _saved(folder, made):
    for name, one in made.items():
        save(one, folder / name)
    return {name: (folder / name).read_bytes() for name in made}


def _checkpoint(folder):
    """The state after the first of two iterations."""
    path, held = folder / "checkpoint.skops", []
    made = Searn(**SEARN, checkpoint=str(path))
    made.fit(WORDS, TAGS, on_iteration=lambda k, _: held.append(path.read_bytes()))
    return {"checkpoint.skops": held[0]}
