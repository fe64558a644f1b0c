"""Features of states: what is hashed, and the templates of the paper."""
