"""The command line: one sentence, exit code 2, nothing on stdout, no file, no traceback.

Of a line of ``REFUSED``, the words behind ``fsmeu`` and what the sentence says. ``< FILE`` is
standard input, ``<<< TEXT`` is the same from a text. Each runs in a folder that holds ``FILES``.
"""

import os
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli import commands


class Refused(Exception):
    """What a command said when it was refused as commands are."""


WORDS = {"ONES": "1" * 100_000}
FILES = {
    "bad.loss": "loss f\nlabels 0 1\ncount bad whn z != y\nvalue bad\n",
    "binary.loss": bytes(range(256)),
    "long.loss": "# " + "x" * 300_000,
    "tags.loss": "loss f labels bio count bad when z != y value bad",
    "p.jsonl": '{"probs": [0.3, 0.6, 0.2]}',
    "one.jsonl": '{"probs": [0.5], "y": "1"}',
    "zero.jsonl": '{"probs": [0.0], "y": "1"}',
    "long.jsonl": '{"probs": [0.5], "y": "11"}',
    "probs.iob2": "a O O:0.5 B:0.5\n\nb O O:0.5 B:0.5\nc O O:0.5\n",
    "tag.iob2": "the O O\n\n\nx O O\ny O Q-NP\nz O O\n",
    "t.csv": "a,b\n1,0\n2,1\n3,0\n",
    "t.conll": "the DT O\n",
    "word.csv": "a,b,kind\n1,2,x\n1,two,y\n",
}

REFUSED = """
evaluat fscore => 'evaluat'. Did you mean 'evaluate'? See 'fsmeu --help'.
check fscor => 'fscor' ... 'fscore'
check bad.loss => bad.loss:3:11: ... 'when'
check . => a file or the name of a built-in loss. Got a folder
check binary.loss => binary.loss ... UTF-8
losses long.loss => long.loss ... at most
expect pk 01 --probs .5,.5 => loss pk ... 'k' ... --param k=VALUE
check pk -p k=1 -p k=2 => 'k' may be given once
expect pk 01 --probs .5,.5 -p k=1 -p kk=2 => 'kk' ... 'k'
check --sizes pk -p k=1 --labels A,B,C => 2 labels ... 3 labels
check --sizes - < tags.loss => --types NP ... --labels O,B-NP
check --sizes fscore --n 1000000000000000000000000000000 => at most ... FSMEU_MAX_STATES
evaluate fscore ONES ONES --steps => 10,000 labels ... 100,000
evaluate fscore 012 011 => hypothesis z ... entry 2 ... 0, 1 ... 2
expect fscore 01 => --probs ... --model ... neither
expect fscore 01 --probs .5,.5 --plot new/x.png => folder new must exist ... mkdir -p new
expect fscore 01 --model /dev/zero => at most
expect fscore 01 --model - <<< '{"probs": [0.5' => JSON ... line 1
expect fscore 00 --probs 0,0 --given '1 1' => --given: some sequence that the constraint allows
decode fscore --probs .5 --given '0* 2' => --given: constraint: in '0* 2', at character 4
decode fscore --probs .5 --corpus p.jsonl => one of them
decode hamming --corpus probs.iob2 => line 4: ... first token
expect fscore --corpus p.jsonl 01 => their own hypotheses
expect fscore --corpus p.jsonl --levels => --corpus ... --levels
evaluate hamming B-VP O --types NP => B-VP ... 'B-NP'
draw => a loss or a model must be given
train t.conll -o m.skops --set loss=hamming => is given by LOSS
expect fscore --corpus p.jsonl --jobs 100000 => --jobs ... at most 1,024
expect fscore --corpus p.jsonl -o p.jsonl --resume => --output ... the corpus itself
decode fscore --corpus p.jsonl -o new/z.jsonl => the folder new must exist
consensus fscore - <<< '{"sets": [["a"]], "spans": []}' => line 1: ... one of the keys
score pk - -p k=auto => must be a file
score fscore - -s z <<< '{"y": "01", "z": "0"}' => as many labels as the reference, 2. Got 1
score fscore one.jsonl --calibrate one.jsonl => --calibrate ... must not be the corpus
score fscore one.jsonl --calibrate long.jsonl => --calibrate, line 1: ... as long as the reference
score fscore one.jsonl --calibrate zero.jsonl => some reference must have positive probability
score chunk_fscore tag.iob2 => tag.iob2, line 5: ... Got Q-NP
score --input-format conll accuracy - <<< 'a O:0.5 B:0.5' => --gold ... probabilities
train word.csv -o m.skops => line 3, column 2 ... two
predict t.csv t.csv => save
"""


def fsmeu(line):
    """Runs a command; raises what it said, if it was refused in the way that all are."""
    words = [WORDS.get(word, word) for word in shlex.split(line)]
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        for name, content in FILES.items():
            commands.write(Path(folder) / name, content)
        os.chdir(folder)
        try:
            stdin = None
            if words[-2:-1] in (["<"], ["<<<"]):
                *words, sign, source = words
                stdin = source if sign == "<<<" else Path(source).read_bytes()
            ran = commands.fsmeu(*words, stdin=stdin)
        finally:
            os.chdir(here)
        ran.is_refused()
        assert {path.name for path in Path(folder).iterdir()} == set(FILES)
    raise Refused(ran.err)


NAMES = {"fsmeu": fsmeu}
LINES = [line.partition(" => ") for line in REFUSED.strip().splitlines()]
ROWS = [(f"fsmeu({words!r})", Refused, said) for words, _, said in LINES]
