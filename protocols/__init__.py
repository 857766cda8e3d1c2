"""The words every part shares: values that travel, are stored and are hashed.

Imports pydantic and the standard library only; every other layer imports this one.
"""
