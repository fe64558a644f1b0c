"""What can be derived from a loss: its split by tape, its confusion form, its terms."""
