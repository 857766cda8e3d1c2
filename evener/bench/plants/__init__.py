"""Known faults of harnesses, by the taxonomy of Co-Harness (arXiv 2607.22688): eight for each
dimension, and ten errors of the model that no harness is to blame for."""

from evener.bench.plants import agent, memory, middleware, prompt, skill, tool
from evener.bench.plants.plant import Plant

__all__ = ["PLANTS", "Plant"]

PLANTS: tuple[Plant, ...] = (
    *prompt.PLANTS,
    *tool.PLANTS,
    *skill.PLANTS,
    *middleware.PLANTS,
    *memory.PLANTS,
    *agent.PLANTS,
)
