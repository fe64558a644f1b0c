"""Losses: the language, its analysis, and the machines it compiles to."""
