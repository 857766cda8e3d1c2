"""Known faults of harnesses, by the taxonomy of Co-Harness (arXiv 2607.22688): eight for each
dimension, and ten errors of the model that no harness is to blame for; and a second set as a check.
"""

from evener.bench.plants import agent, memory, middleware, prompt, skill, tool
from evener.bench.plants.plant import Plant
from evener.bench.plants.second import SECOND

__all__ = ["PLANTS", "SECOND", "SETS", "Plant"]

PLANTS: tuple[Plant, ...] = (
    *prompt.PLANTS,
    *tool.PLANTS,
    *skill.PLANTS,
    *middleware.PLANTS,
    *memory.PLANTS,
    *agent.PLANTS,
)
SETS: dict[str, tuple[Plant, ...]] = {"first": PLANTS, "second": SECOND}
