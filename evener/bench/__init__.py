"""Benches: what the system does is held against what no user has, a right solution for example.

Right solutions of tasks are read here and nowhere else, of tasks of the split `mine` alone.
"""
