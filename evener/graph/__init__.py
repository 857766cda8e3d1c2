"""The conversation graph of a run, built from its message log on demand."""
