"""A shop desk: word problems, prices and conversions, generated without end and scored exactly."""

from pathlib import Path

from evener.environments.storefront.environment import HARNESSES, Storefront

__all__ = ["HARNESSES", "Storefront", "harness_path"]


def harness_path(name: str) -> Path:
    """The file of a harness that ships with the desk. Raises ConfigError for another name."""
    return Storefront().harness_path(name)
