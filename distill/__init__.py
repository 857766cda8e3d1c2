"""From accepted trajectories to training rows to an adapter: what a harness taught, in weights."""
