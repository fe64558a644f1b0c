"""Drawing: machines as pictures and text, distributions and measures as plots, pages to explore.

- ``draw.draw``, ``draw.Drawing``: pictures in a notebook, a terminal or a file
- ``pages.explore`` (a loss to walk through and try out), ``cards`` in notebooks
- ``plots``: levels of a distribution, calibration, thresholds, intervals

A picture is made in steps: ``subject`` (the machine to draw), ``frame`` (names and captions),
``layout`` with ``lines`` (places), ``picture`` (shapes), ``formats`` and ``text``.
"""
