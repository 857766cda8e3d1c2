"""Mathematics with a Python tool: generated problems or one's own, exact answers, safe scoring."""

from evener.environments.math.environment import HARNESSES, MathEnvironment

__all__ = ["HARNESSES", "MathEnvironment"]
