"""Pictures as shapes, and shapes as files and text."""
