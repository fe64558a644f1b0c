"""Pages to look around in: the gallery and the explorer of one loss."""
