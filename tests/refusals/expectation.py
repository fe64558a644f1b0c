"""Expectations and gradients."""

import fsmeu
from fsmeu.errors import InputError

NAMES = {name: getattr(fsmeu, name) for name in fsmeu.__all__} | {
    "F1": fsmeu.load("fscore"),
}
ROWS = [
    ('expect(F1, "01", [0.5])', InputError, "same length. Got lengths 2 and 1"),
    ('expect(F1, "02", [0.5, 0.5])', InputError, "hypothesis z ... must be one of 0, 1"),
]
