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


WORDS = {"LONG": "a" * 5000, "ONES": "1" * 100_000}
FILES = {
    "bad.loss": "loss f\nlabels 0 1\ncount bad whn z != y\nvalue bad\n",
    "binary.loss": bytes(range(256)),
    "long.loss": "# " + "x" * 300_000,
    "tags.loss": "loss f labels bio count bad when z != y value bad",
    "tags.json": '{"model": "independent", "labels": ["O", "B-X"], "probabilities": [[0.5, 0.5]]}',
    "p.jsonl": '{"probs": [0.3, 0.6, 0.2]}',
    "one.jsonl": '{"probs": [0.5], "y": "1"}',
    "zero.jsonl": '{"probs": [0.0], "y": "1"}',
    "long.jsonl": '{"probs": [0.5], "y": "11"}',
    "empty.jsonl": "",
    "broken.npy": b"\x93NUMPY\x01",
    "short.txt": "a O O\nb O\n",
    "probs.iob2": "a O O:0.5 B:0.5\n\nb O O:0.5 B:0.5\nc O O:0.5\n",
    "tag.iob2": "the O O\n\n\nx O O\ny O Q-NP\nz O O\n",
    "t.csv": "a,b\n1,0\n2,1\n3,0\n",
    "word.csv": "a,b,kind\n1,2,x\n1,two,y\n",
}

REFUSED = """
evaluat fscore => 'evaluat'. Did you mean 'evaluate'? See 'fsmeu --help'.
evaluate fscore 01 01 --jsn => --jsn
check fscor => 'fscor' ... 'fscore'
check bad.loss => bad.loss:3:11: ... 'when'
evaluate - 01 01 < bad.loss => <stdin>:3:11:
expect - 01 --probs .5,.5 <<< '' => <stdin>:1:1:
check . => a file or the name of a built-in loss. Got a folder
check binary.loss => binary.loss ... UTF-8
losses long.loss => long.loss ... at most
losses none.loss => none.loss
check ~nobody-of-this-name/f.loss => home folder
check LONG => too long
expect pk 01 --probs .5,.5 => loss pk ... 'k' ... --param k=VALUE
check pk -p k => NAME=VALUE ... --param k=2
check --sizes pk -p k=two => parameter k ... number ... two
check pk -p k= => --param k ... nothing
check pk -p 'k=[[1], [2, 3]]' => --param k ... rectangular
check pk -p k=1 -p k=2 => 'k' may be given once
expect pk 01 --probs .5,.5 -p k=1 -p kk=2 => 'kk' ... 'k'
check --sizes pk -p k=1 --labels A,B,C => 2 labels ... 3 labels
check --sizes pk -p k=1 --labels ' , ' => --labels: at least one is needed
check pk --labels A,B --types NP => by --labels or by --types
check --sizes - < tags.loss => --types NP ... --labels O,B-NP
check --sizes fscore --n 1000000000000000000000000000000 => at most ... FSMEU_MAX_STATES
check fscore --n 201 => 1 to 200 ... --sizes
evaluate fscore ONES ONES --steps => 10,000 labels ... 100,000
evaluate fscore 012 011 => hypothesis z ... entry 2 ... 0, 1 ... 2
expect fscore 01 => --probs ... --model ... neither
expect fscore 01 --probs .5,.5 --model m.json => both
expect fscore 01 --probs .5,1.5 => 0 to 1 ... 1.5
expect fscore 01 --probs '.5;.5' => --probs ... commas ... .5;.5
expect fscore 01 --probs .5,.5 --engine steam => auto, openfst ... steam
expect fscore 01 --probs .5,.5 --labels A,B => same labels ... Give --labels
expect fscore 01 --probs .5,.5 --plot x.gif => must be one of png, pdf, svg
expect fscore 01 --probs .5,.5 --plot new/x.png => folder new must exist ... mkdir -p new
expect fscore 01 --probs .5,.5 --column 2 => --column: it needs --corpus FILE
expect fscore 01 --model none.json => none.json ... No such file
expect fscore 01 --model /dev/zero => at most
expect fscore 01 --model broken.npy => must be an array of numbers
expect fscore 01 --model - <<< /etc/passwd => JSON object ... /etc/passwd
expect fscore 01 --model - <<< '{"probs": [0.5' => JSON ... line 1
expect - 01 -m - < bad.loss => the loss or the model, not both
expect fscore 00 --probs 0,0 --given '1 1' => --given: some sequence that the constraint allows
decode fscore --probs .5 --given '0* 2' => --given: constraint: in '0* 2', at character 4
decode fscore --probs .5 --given none.fst => --given: the file ... must be there
decode fscore --model tags.json => must have the same labels ... Give --labels
decode fscore --probs .5 --method rankin => 'ranking'
decode fscore --probs .5 --draw x.svg => only --engine openfst builds
decode fscore --probs .5 --engine openfst -k 2 --draw x.svg => one decision ... --k 2
decode fscore --probs .5 --jobs 2 => needs --corpus
decode fscore --probs .5 --corpus p.jsonl => one of them
decode fscore --corpus p.jsonl --method all => --method ... one model
decode fscore --corpus empty.jsonl => must hold at least one record
decode - --corpus - < bad.loss => the loss or the corpus, not both
decode hamming --corpus probs.iob2 => line 4: ... first token
expect fscore --corpus p.jsonl 01 => their own hypotheses
expect fscore --corpus p.jsonl --levels => --corpus ... --levels
expect fscore --corpus p.jsonl --input-format conll => --column ... must be given
expect fscore --corpus p.jsonl --on-error skpi => --on-error ... 'skip'
expect fscore --corpus p.jsonl --resume => --resume ... --output
expect fscore --corpus p.jsonl --jobs 100000 => --jobs ... at most 1,024
expect fscore --corpus p.jsonl -o x.gz => --output ... uncompressed
expect fscore --corpus p.jsonl -o p.jsonl --resume => --output ... the corpus itself
expect fscore --corpus p.jsonl -o / => --output ... folder
decode fscore --corpus p.jsonl -o new/z.jsonl => the folder new must exist
score fscore one.jsonl -o new/z.csv => the folder new must exist
consensus fscore empty.jsonl => at least one record
consensus fscore - <<< '{"sets": [["a"]], "spans": []}' => line 1: ... one of the keys
draw => a loss or a model must be given
draw fscore => Give --n 3
draw -f fst fscore --n 2 => not written to a terminal
draw -f fst fscore --n 3 --z 01 -o /dev/null => n = 3 ... length 2
draw fscore --n 2 -o /dev/null/x.svg => the folder /dev/null must exist
draw fscore --summed --n 2 --probs 0.5,0.5 => --summed goes with --n alone
draw -f html fscore -n 40 => at most 150 states
score pk - -p k=auto => must be a file
score fscore accuracy one.jsonl -p bta=2 => Did you mean 'beta'
score fscore p.jsonl => must have the key "y"
score fscore - -s z <<< '{"y": "01", "z": "0"}' => as many labels as the reference, 2. Got 1
score fscore one.jsonl --decide all => --decide ... viterbi
score fscore one.jsonl -o x.txt => --output ... .csv
score fscore one.jsonl -o x.csv --json => --json ... both
score fscore one.jsonl --calibrate one.jsonl => --calibrate ... must not be the corpus
score fscore one.jsonl --calibrate long.jsonl => --calibrate, line 1: ... as long as the reference
score fscore one.jsonl --calibrate zero.jsonl => some reference must have positive probability
score --input-format conll accuracy short.txt => line 2 ... as many as its first, 3
score chunk_fscore tag.iob2 => tag.iob2, line 5: ... Got Q-NP
score --input-format conll accuracy short.txt --gold 4 -s 1 => column 4
score --input-format conll accuracy - <<< 'a O:0.5 B:0.5' => --gold ... probabilities
train t.csv -o m.skops -c DTAClasifier => 'DTAClassifier'
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
