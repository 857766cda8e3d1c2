"""The runtime of a harness: load it, check it, show it to a student, run episodes, replay them.

A harness is data. Its templates run in a sandbox; text of models and tasks is never a template.
"""
