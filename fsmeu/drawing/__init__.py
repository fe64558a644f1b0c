"""Drawing: machines as pictures and text, distributions and measures as plots, pages to explore.

- ``draw.draw``, ``draw.Drawing``: pictures in a notebook, a terminal or a file
- ``pages``: ``explore`` (a loss to walk through and try out), ``gallery``, ``cards`` in notebooks
- ``plots``: ``levels_plot`` (distributions of a utility), ``measure_plots`` (curves, thresholds)

A picture is made in steps: ``scene`` (what is asked for, its parts, names and captions), ``layout``
(places), ``render`` (shapes, and the formats and texts that they become).
"""
