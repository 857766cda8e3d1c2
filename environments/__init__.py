"""Tasks, worlds and scores. An environment owns its actions, its state and its verdict."""
