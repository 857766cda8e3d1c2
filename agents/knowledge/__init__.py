"""K: an optimized harness h* rewritten for a reviewer in the actions of a target harness h.

`adapt` makes it, `check_knowledge` holds it against both harnesses, `fire` asks its hints about a
candidate, `Recipes` carries a call of h* out in h, and `prompt_of` says it to a model.
"""
