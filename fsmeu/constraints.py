"""Sets of label sequences, for ``decode`` and ``model.given``.

- ``bio``, ``iob1``, ``iobes``: chunk tags as a scheme allows them
- ``min_gap``: occurrences of a label that stand apart
- ``min_duration``: runs of labels that last
- ``all_of``: what several constraints allow together
"""

from fsmeu.fst.durations import all_of, min_duration, min_gap
from fsmeu.fst.tags import bio, iob1, iobes

__all__ = ["all_of", "bio", "iob1", "iobes", "min_duration", "min_gap"]
