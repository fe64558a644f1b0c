"""Machines for other tools: OpenFst's formats and networkx graphs."""
