"""The arms beside a run's gain: what else could have been had for the same cost.

Everything is run on the sealed tasks and the seed of the run's own cells and logged in the run
itself. An episode that is in its store is never paid for again.
"""
