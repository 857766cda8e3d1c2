"""How much of what a harness did the weights do without it, pattern by pattern."""
