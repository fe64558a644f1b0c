"""The loss language: text to a checked spec."""
