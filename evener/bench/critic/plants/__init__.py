"""Known faults of harnesses, by the taxonomy of Co-Harness (arXiv 2607.22688): eight for each
dimension, and ten errors of the model that no harness is to blame for; a second set as a check; and
a third and a fourth, each as large as the first, by somebody who had not seen the detectors.
"""

from evener.bench.critic.plants import agent, memory, middleware, prompt, skill, tool
from evener.bench.critic.plants.fourth import FOURTH
from evener.bench.critic.plants.plant import Plant
from evener.bench.critic.plants.second import SECOND
from evener.bench.critic.plants.third import THIRD

__all__ = ["FOURTH", "PLANTS", "SECOND", "SETS", "THIRD", "Plant"]

PLANTS: tuple[Plant, ...] = (
    *prompt.PLANTS,
    *tool.PLANTS,
    *skill.PLANTS,
    *middleware.PLANTS,
    *memory.PLANTS,
    *agent.PLANTS,
)
SETS: dict[str, tuple[Plant, ...]] = {
    "first": PLANTS,
    "second": SECOND,
    "third": THIRD,
    "fourth": FOURTH,
}
