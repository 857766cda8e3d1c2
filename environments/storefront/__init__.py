"""A shop desk: word problems, prices and conversions, generated without end and scored exactly."""

from pathlib import Path

from evener.environments.storefront.environment import Storefront
from evener.protocols.error import ConfigError

__all__ = ["HARNESSES", "Storefront", "harness_path"]

HARNESSES: tuple[str, ...] = ("seed", "hand", "target", "optimized")


def harness_path(name: str) -> Path:
    """The file of a harness that ships with the desk. Raises ConfigError for another name."""
    if name not in HARNESSES:
        raise ConfigError(
            f"storefront ships no harness {name!r}",
            remedy=f"It ships {', '.join(HARNESSES)}; or give the path of a file",
        )
    return Path(__file__).parent / "harnesses" / f"{name}.yaml"
