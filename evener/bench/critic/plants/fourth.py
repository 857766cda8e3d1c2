"""A fourth set of planted faults, as large as the first and the third: eight for each part and ten
errors of the student. Whoever wrote it had read the taxonomy, the desk and the other sets, and no
detector."""

from evener.bench.critic.plants import (
    fourth_agent,
    fourth_memory,
    fourth_middleware,
    fourth_prompt,
    fourth_skill,
    fourth_tool,
)
from evener.bench.critic.plants.plant import Plant

FOURTH: tuple[Plant, ...] = (
    *fourth_prompt.PLANTS,
    *fourth_tool.PLANTS,
    *fourth_skill.PLANTS,
    *fourth_middleware.PLANTS,
    *fourth_memory.PLANTS,
    *fourth_agent.PLANTS,
)
