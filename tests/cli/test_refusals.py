"""Bad input to every command: one sentence, exit code 2, nothing on stdout, no file, no traceback.

A line of ``REFUSED`` has the words of a command and, behind ``=>``, what the sentence says, parts
with ``|`` between them. The words go behind each beginning above them (there is a ``;`` between
two), the first of them in the place of {} where there is one. ``< FILE`` is standard input,
``<<< TEXT`` is the same from a text.
"""

import shlex

import numpy as np
import pytest

from fsmeu.cli.failures import INTERRUPTED, OUR_FAULT
from fsmeu.learning import DTAClassifier, save
from tests.cli.conftest import write
from tests.support.examples import X, Y, as_csv, as_npz
from tests.support.nightly import mostly_nightly

WORDS = {"LONG": "a" * 5000, "DIGITS": "9" * 5000, "ONES": "1" * 100_000}
WORDS["BRACKETS"] = "k=" + "[" * 100_000

REFUSED = """
check {} ; expect {} 01 --probs .5,.5 ; losses {} ; check --sizes {} ; evaluate --steps {} 01 01 ;
draw -f fst {} -o /dev/null --n 2
  fscor => 'fscor' | 'fscore'
  qqqq => hamming | zero_one
  bad.loss => bad.loss:3:11: | 'when'
  - < bad.loss => <stdin>:3:11:
check {} ; expect {} 01 --probs .5,.5
  - <<< '' => <stdin>:1:1:
  . => . | folder
  binary.loss => binary.loss | UTF-8
  long.loss => long.loss | at most
  none.loss => none.loss
  ~nobody-of-this-name/f.loss => home folder
  LONG => too long
check --sizes pk ; expect pk 01 --probs .5,.5
  => loss pk | 'k' | --param k=VALUE
  -p k => NAME=VALUE | --param k=2
  -p =2 => NAME=VALUE
  -p k=two => parameter k | number | two
  -p k= => --param k | nothing
  -p 'k=[[1], [2, 3]]' => --param k | rectangular
  -p BRACKETS => --param k | table
  -p k=1 -p k=2 => 'k' | once
  -p k=1 -p kk=2 => 'kk' | 'k'
  -p k=1 --labels A,B,C => 2 labels | 3 labels
  -p k=1 --labels ' , ' => --labels
  -p k=1 --types '' => --types
  -p k=1 --labels A,B --types NP => --labels | --types
check --sizes ; draw -f fst --n 2 -o /dev/null
  - < tags.loss => --types NP | --labels O,B-NP
expect fscore 01
  => --probs | --model | neither
  --probs .5,.5 --model m.json => both
  --probs .5 => same length | 2 and 1
  --probs .5,1.5 => 0 to 1 | 1.5
  --probs '.5;.5' => --probs | commas | .5;.5
  --probs .5,,.5 => --probs | commas | .5,,.5
  --probs .5,.5 --engine steam => auto, openfst | steam
  --probs .5,.5 --labels A,B => same labels | A', 'B | Give --labels
  --probs .5,.5 --keep 0 =>
  --probs =>
  --model none.json => none.json | No such file
  --model /dev/zero => at most
  --model - <<< '' => JSON | nothing
  --model - <<< /etc/passwd => JSON object | /etc/passwd
  --model - <<< '{"probs": [0.5' => JSON | line 1
  --model - <<< BRACKETS => JSON
  --model - < binary.loss => UTF-8
  --probs .5,.5 --levels --plot x.gif => the format of a plot must be one of png, pdf, svg
fsmeu
  evaluat fscore => 'evaluat'. Did you mean 'evaluate'? See 'fsmeu --help'.
  evaluate fscore 01 =>
  evaluate fscore 01 01 --jsn =>
  evaluate fscore ONES ONES --steps => 10,000 labels | 100,000
  evaluate fscore 012 011 => hypothesis z | entry 2 | 0, 1 | 2
  evaluate fscore 011 01 => same length | 3 and 2
  evaluate hamming B-VP O --types NP => B-VP | 'B-NP'
  evaluate fscore -- 01 --debug => reference y | entry 0
  searn train =>
  check --sizes fscore --n -1 =>
  check fscore --n 0 => 1 to 200
  check fscore --n 201 => 1 to 200 | --sizes
  expect - 01 -m - < bad.loss => not both | a file
  expect fscore --corpus c --levels => --corpus | --levels
  expect fscore 00 --probs 0,0 --given '1 1' => --given: some sequence that the constraint allows
  expect fscore 00 --probs 0,0 --given empty => must hold a regular expression | nothing in
  expect fscore 00 --probs 0,0 --given broken.fst => --given
  demo -o x.gif => the format must be one of svg
  demo -o / => must be a file
  draw -f fst fscore --n 2 => not written to a terminal
draw -f fst {} -o /dev/null
  fscore --n 3 --z 01 => n = 3 | length 2
  fscore => --n N | --z Z
  fscore --n 1 -o / => must be a file | the folder /
draw
  => a loss or a model must be given
  fscore => Give --n 3
  fscore --n 2 -o - => --format
  fscore --n 2 -o /dev/null/x.svg => the folder /dev/null must exist
  nothing.json --probs 0.5 => drawn by itself
  --probs 0.5 --n 1 => --n goes with a loss
  --probs 0.5 --minimize => --minimize goes with a loss
  --probs 0.5 --y 2 => must be one of 0, 1
  fscore --z 1 --probs 0.5 --minimize => drawn as it is
  fscore --n 2 --minimize --summed => --n alone
  fscore --summed --z 010 => --summed goes with --n alone
  fscore --summed --n 3 --given-z => --summed goes with --n alone
  fscore --summed --n 2 --probs 0.5,0.5 => --summed goes with --n alone
  -f html fscore -n 40 => at most 150 states
  -f html fscore -n 3 --limit 10 => at most 10 states
  -f html fscore -n 3 --probs 0.5 => each of n = 3 positions
  tags.json -f fst => of a loss | Got a model
  --probs 0.5 --y 00 => as long as the sequences of the model, 1
  -f html hamming --labels A,B,C --probs 0.5 => for two labels
decode fscore
  => --probs | neither
  --model tags.json => must have the same labels | Give --labels
  --probs .5 --corpus x => --corpus | one of them
  --corpus x --method all => --method | one model
  --corpus none.jsonl => none.jsonl | No such file
  --probs .5 --method rankin => 'ranking'
  --probs .5 --constraint (0 => constraint | not closed
  --probs .5 --draw x.svg => only --engine openfst builds
  --probs .5 --engine openfst --method all --draw x.svg => one decision | --method all
  --probs .5 --engine openfst -k 2 --draw x.svg => one decision | --k 2
  --probs .5 -k 2 --method all => --k | one method | --method all
  --probs .5 -k 0 => --k
  --corpus x --engine openfst --draw x.svg => one decision | --corpus
  --probs .5 --engine openfst --method nbest => has the methods additive, counting
  --probs .5 --engine openfst --keep 3 => keeps every state
  --probs .5 --engine numpy => engine must be one of auto, openfst
decode fscore --probs .3,.6,.2 --given ; decode fscore --corpus p.jsonl --given
  '0* 2' => --given: constraint: in '0* 2', at character 4: '2' is not a label
  '1 1' => --given: constraint: it must allow at least one sequence of length 3
  bio => --given: constraint bio: labels must be chunk tags | Got 0 instead
  none.fst => --given: the file | must be there. Got none.fst instead
decode fscore --corpus p.jsonl ; expect fscore --corpus p.jsonl
  --on-error skpi => --on-error | 'skip'
  --input-format xml => --input-format | jsonl, conll
  --resume => --resume | --output
  --jobs x => --jobs | the address of a scheduler
  --jobs 100000 => --jobs | at most 1,024
  --jobs 0 => --jobs
  -o x.gz => --output | uncompressed
  -o / => --output | folder
  -o p.jsonl --resume => --output | the corpus itself
  --probs .5 => one of them
decode fscore --corpus p.jsonl
  --method rankin => 'ranking'
expect fscore --corpus p.jsonl
  --column 1 => --column | columns
  --input-format conll => --column | must be given
  --keep 3 => --keep
  01 => their own hypotheses
decode fscore --probs .5 ; expect fscore 1 --probs .5
  --jobs 2 => needs --corpus
  --on-error skip => needs --corpus
  -o x => needs --corpus
  --resume => needs --corpus
  --input-format jsonl => needs --corpus
decode fscore --corpus ; score fscore ; expect fscore --column 1 --corpus
  empty.conll => must hold at least one record
decode fscore --corpus ; score fscore ; expect fscore --corpus
  empty.jsonl => must hold at least one record
score fscore -
  <<< '{"probs": [0.5]}' => must have the key "y"
  <<< '{"probs": [0.5], "y": "01"}' => as long as the reference, 2. Got 1
  <<< '{"y": "01"}' => something to score
  -s z <<< '{"y": "01", "z": "0"}' => as many labels as the reference, 2. Got 1
  -s z <<< '{"y": [true], "z": "0"}' => key 'y' | must be a list of labels
  -s z <<< '{"y": "02", "z": "01"}' => gold, fscore | 2
score
  pk - -p k=auto => must be a file
  => Missing argument 'LOSS'
  one.jsonl => Missing argument 'LOSS'
  - one.jsonl => a file or a built-in loss
  pk one.jsonl => 'k' has no default. Give --param k=VALUE
  pk fscore one.jsonl -p k=two => parameter k | number | two
  fscore accuracy one.jsonl -p bta=2 => Did you mean 'beta'
score fscore one.jsonl
  --given 2 => line 1: --given | not a label
  --decide all => --decide | viterbi
  --decide , => --decide: some of viterbi | none
  --baseline x => --baseline | viterbi
  -o x.txt => --output | .csv
  -o x.csv --json => --json | both
  -o - => --output | .csv
  --plot x.txt => plot | png
  -p beta=auto => parameter beta | number
score --input-format conll accuracy
  short.txt --gold 4 -s 1 => column 4
  short.txt => line 2 | as many as its first, 3
  short.txt --gold g -s 1 => column | a number, from 1
  short.txt --gold 2 -s crf=g -s 1 => column | Got g instead
  - <<< 'a O:0.5 B:0.5' => --gold | probabilities
score --input-format conll
  fscore - <<< 'a 0 no' => decision, fscore | no
  accuracy one.txt --by-type => line 1 | column
train t.csv -o m.skops
  -c DTAClasifier => 'DTAClassifier'
  -c A -c B => --classifier | one
  --set templates=words => --set, DTAClassifier: a parameter must be
  --set calibratoin=x => 'calibration'
  --set calibration => NAME=VALUE | --set estimator=GaussianNB
  --set loss=jaccard => is given by LOSS
  --set loss__beta=2 => is given by LOSS
  --set random_state=x => --set: random_state must be a whole number | Got x
  -p bta=2 => 'beta'
  -p beta=two => parameter beta | number
  -c MaxExpectedFClassifier -p beta=2 => it takes no loss | --list
  --set estimator=Logistic => 'LogisticRegression'
  --set estimator__C=2 => estimator=LogisticRegression
  --set estimator=GaussianNB --set estimator__C=2 => 'C'
  --set estimator=LogisticRegression --set estimator__C=-1 => C
  --label 1,2,3,4,5 => beside the labels
  --input-format excel => svmlight, svmlight0, csv, npz
  --input-format npz => npz file
  --input-format svmlight => index:value
  --plot x.png => --test
  --test t.csv --plot x.gif => png, pdf, svg
  --test t.csv --plot folder.png => must be a file
train
  fscor t.csv -o m.skops => 'fscore'
  fscore jaccard t.csv -o m.skops => one loss and one FILE
  fscore t.csv -o m.skops -c FOFOClassifier => it takes no loss
  t.csv => --output
  -o m.skops => FILE
  t.conll -o m.skops -c FOFOClassifier => --classifier | tagger
  /dev/zero -o /dev/null => at most
  /proc/self/mem -o m => svmlight file /proc/self/mem: the file cannot be read (Input/output error)
  t.csv -o m --label DIGITS => a column is one of 1 to 5
  gaps.svm -o m => at most 16,777,216 features | without gaps
predict
  none.skops t.csv => none.skops
  t.csv t.csv => save
  blank.skops t.csv => trained
train t.csv -o m.skops
  --label size => a, b, c, d, kind | size
  --test none.csv => none.csv
train {} -o m.skops
  none.csv => none.csv
  folder => folder
train -o m.skops two.npz
  --test gaps.npz => NaN
  --test other.npz => 2
train t.csv -o m.skops -c OFOClassifier
  --set steps=2 => 'step'
  --set gamma_scale=2 => a parameter must be one of
  --pos-label 7 => --pos-label must be one of the classes 0, 1 | 7
  --set pos_label=1 => --pos-label
  --set random_state=-1 => --set: random_state must be a whole number
train -o m.skops -c FOFOClassifier
  nan.npz => NaN
  table.npz => 1d array | (90, 2)
  two.npz --test narrow.npz => 4 features | 2 features
train --input-format conll t.txt -o m
  --set bta=1 => Did you mean 'beta'
  --set loss=hamming => is given by LOSS
  -p k=1 => 'k'
  --set templates=chunkin => Did you mean 'chunking'
train --input-format conll {} -o m
  none.txt => none.txt | cannot be read
  one.txt => line 1 | 2 columns
"""


def cases():
    """(the beginning of a command, its other words, what is said) of each line."""
    for line in REFUSED.strip("\n").replace(" ;\n", " ; ").split("\n"):
        if line[0] != " ":
            beginnings = line.split(" ; ")
            continue
        words, _, said = line.partition("=>")
        yield from ((begin.removeprefix("fsmeu"), words, said.strip()) for begin in beginnings)


FILES = {
    "bad.loss": "loss f\nlabels 0 1\ncount bad whn z != y\nvalue bad\n",
    "binary.loss": bytes(range(256)),
    "long.loss": "# " + "x" * 300_000,
    "tags.loss": "loss f labels bio count bad when z != y value bad",
    "tags.json": '{"model": "independent", "labels": ["O", "B-X"], "probabilities": [[0.5, 0.5]]}',
    "p.jsonl": '{"probs": [0.3, 0.6, 0.2]}',
    "one.jsonl": '{"probs": [0.5], "y": "1"}',
    "empty.jsonl": "",
    "empty.conll": "\n\n",
    "empty": " \n",
    "broken.fst": b"\xd6\xfd\xb2~\x06\x00\x00\x00vector",
    "one.txt": "a\nb\n",
    "gaps.svm": "1 1:0.5\n0 99999999:1\n",
    "short.txt": "a O O\nb O\n",
    "t.txt": "the DT B-NP\nold JJ I-NP\nman NN I-NP\nate VBD B-VP\n. . O\n",
}
ARRAYS = {
    "nan": (X, np.where(Y == 1, np.nan, 0.0)),
    "table": (X, np.stack([Y, Y], axis=1)),
    "two": (X, Y),
    "other": (X, Y + 1),
    "narrow": (X[:, :2], Y),
    "gaps": (np.where(X > 1, np.nan, X), Y),
}


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("material")
    for name, content in FILES.items():
        write(folder / name, content)
    for name, (rows, labels) in ARRAYS.items():
        as_npz(folder / f"{name}.npz", rows, labels)
    as_csv(folder / "t.csv")
    save(DTAClassifier(), folder / "blank.skops")
    for name in ("folder", "folder.png"):
        (folder / name).mkdir()
    return folder


@pytest.mark.parametrize(("prefix", "line", "said"), [*cases()])
def test_refusals(fsmeu, material, monkeypatch, prefix, line, said):
    monkeypatch.chdir(material)
    words = [WORDS.get(word, word) for word in shlex.split(line)]
    stdin = None
    if "<" in words or "<<<" in words:
        *words, sign, source = words
        stdin = source if sign == "<<<" else (material / source).read_bytes()
    if "{}" in prefix:
        prefix, words = prefix.replace("{}", words[0]), words[1:]
    before = set(material.rglob("*"))
    ran = fsmeu(*prefix.split(), *words, stdin=stdin)
    ran.is_refused(*filter(None, said.split(" | ")))
    assert set(material.rglob("*")) == before


def test_the_word_that_is_wrong_has_a_caret(fsmeu, tmp_path):
    *_, line, caret = fsmeu("check", write(tmp_path / "f", FILES["bad.loss"])).err.splitlines()
    assert line.strip() == "count bad whn z != y"
    assert line[len(caret) - 1 :].startswith("whn")


@pytest.mark.parametrize("n", mostly_nightly([40, 10**30, 10**6], quick=2))
def test_machines_past_the_limit(fsmeu, n, monkeypatch):
    """The sentence names the limit and how to raise it, and for files the machine that is less."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    says = ["at most 1,000 states", "FSMEU_MAX_STATES"]
    fsmeu("check", "--sizes", "fscore", "--n", n).is_refused(*says)
    draw = ["draw", "-f", "fst", "fscore", "-o", "/dev/null", "--n", n]
    fsmeu(*draw).is_refused(*says, "draw --summed")
    probs = ",".join(["0.5"] * 40)
    command = ["expect", "fscore", "01" * 20, "--probs", probs, "--engine", "openfst"]
    fsmeu(*command).is_refused(*says)


def test_debug_shows_where_an_error_comes_from(fsmeu):
    for args in (["--debug", "losses", "fscor"], ["losses", "fscor", "--debug"]):
        ran = fsmeu(*args)
        assert ran.code != 0
        assert type(ran.exception).__name__ == "InputError"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (MemoryError(), 2, "memory"),
        (OSError(5, "Input/output error"), 2, "Input/output error"),
        (KeyError("lost"), OUR_FAULT, "KeyError: 'lost'"),
        (KeyboardInterrupt(), INTERRUPTED, ""),
    ],
)
def test_what_cannot_be_foreseen(fsmeu, monkeypatch, error, code, says):
    """Even a fault of our own ends in a sentence; an interruption in none."""

    def fail(name):
        raise error

    monkeypatch.setattr("fsmeu.cli.inputs.read_loss_file", fail)
    ran = fsmeu("losses", "fscore")
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == (1 if says else 0)
