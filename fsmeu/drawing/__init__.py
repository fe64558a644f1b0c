"""Drawing: machines as pictures, graphs and files; distributions as plots; pages to explore losses.

- ``draw.draw``, ``draw.Drawing``: pictures in a notebook, a terminal or a file
- ``explore.build.explore``: a page in which a loss can be walked through and tried out
- ``levels_plot.plot_levels``, ``levels_plot.plot_hypotheses``: distributions of a utility
- ``curves_plot.plot_curves``: measures of online learners against examples seen
- ``threshold_plot.plot_threshold``: the value of a loss against the threshold on scores
- ``graph.to_networkx``, ``graph.from_networkx``, ``formats.to_openfst``, ``formats.from_openfst``,
  ``formats.to_openfst_text``, ``formats.from_openfst_text``: exchange with other tools

A picture is made in steps: ``subject`` (what is asked for), ``automaton`` (its arcs, registers and
values; parts of it: ``project``, ``route``, ``merged``), ``frame`` (captions, merged arcs; what is
said once: ``legend``; names for the states of models: ``histories``), ``layered`` or ``graphviz``
(places), ``look`` (shapes), and ``svg``, ``raster``, ``tikz`` (formats); ``dot``, ``listing`` and
``canvas`` are text; ``summary`` stands in for machines that are too large. ``cards`` and ``prints``
are what notebooks and ``print`` show of the objects that people hold.
"""
