"""Corpora: many records, read and written as a stream, that are decided or valued."""
