"""Peers on one bus: who runs an episode, finds its faults, judges a repair, trains and decides."""
