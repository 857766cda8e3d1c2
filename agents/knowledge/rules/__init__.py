"""Hint rules: pure functions of a candidate and the visible trajectory, by name in a table."""
