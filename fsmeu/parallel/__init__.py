"""Work shared among processes, of this machine or of others."""
