"""When paired outcomes suffice for a ruling: one gate a module, and what its rulings are worth.

`paired` is the default and `paper` is kept for comparison; `simulate`, `plan` and `null` say how
often a gate errs and what a gain costs to see.
"""
