"""Tasks, worlds and scores. An environment owns its actions, its state and its verdict.

`create(name, **params)` builds one by its registered name; see `evener.environments.table`.
"""

from evener.environments.table import ENVIRONMENTS, create, names

__all__ = ["ENVIRONMENTS", "create", "names"]
