"""Pictures, plots and pages."""

import fsmeu
from fsmeu.drawing.plots import plot_threshold
from fsmeu.errors import InputError, SizeLimitError
from tests.support.python_losses import Mistakes

NAMES = {name: getattr(fsmeu, name) for name in fsmeu.__all__} | {
    "F1": fsmeu.load("fscore"),
    "MISTAKES": fsmeu.function_loss(Mistakes()),
    "plot_threshold": plot_threshold,
}
ROWS = [
    ("draw(F1)", InputError, "length of the sequences must be given"),
    ('draw(F1, n=2, z="101")', InputError, "the same length. Got lengths 2, 3"),
    ('draw(F1, n=2, y="11")', InputError, "hypothesis z must be given"),
    ('draw(F1, z="12")', InputError, "entry 1 must be one of 0, 1"),
    ('draw(F1, n=3, z="1", model=[0.5])', InputError, "n must be that of the model"),
    ('draw(F1, n=2, path="picture.gif")', InputError, "the format must be one of"),
    ("draw(F1, n=300)", SizeLimitError, "at most 50,000 states ... Use a smaller n"),
    ('draw(F1, n=3, registers=["reff"])', InputError, "Did you mean 'ref'?"),
    ("draw(F1, n=3, minimize=True, given_z=True)", InputError, "not both"),
    ("draw(MISTAKES, n=2, given_z=True)", InputError, "must be one of a file"),
    ("draw(F1.compile(2), n=2)", InputError, "n goes with a loss"),
    ('draw(compose(F1, "00", [0.5] * 2), z="10", y="11")', InputError, "an arc for the pair 1:1"),
    ("draw(42)", InputError, "a loss, a compiled loss"),
    ("explore(F1, n=30)", SizeLimitError, "at most 150 states"),
    ("plot_levels([])", InputError, "1 to 40 distributions"),
    ("plot_threshold(F1, [1.0], [1, 0], [1])", InputError, "a decision for each example"),
    ("plot_calibration(F1, [[0.5]] * 2, [[1]], bins=2)", InputError, "Got 1 and 2"),
    ("plot_calibration(F1, [[0.5]] * 2, [[1]] * 2, bins=3)", InputError, "for 3 or more"),
]
