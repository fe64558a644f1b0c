"""Search spaces: in which order, and in which pieces, an output is decided."""
