"""The third set: forty faults and ten errors, by somebody who had not seen the detectors."""

from evener.bench.critic.plants import (
    third_agent,
    third_memory,
    third_middleware,
    third_prompt,
    third_skill,
    third_tool,
)
from evener.bench.critic.plants.plant import Plant

THIRD: tuple[Plant, ...] = (
    *third_prompt.PLANTS,
    *third_tool.PLANTS,
    *third_skill.PLANTS,
    *third_middleware.PLANTS,
    *third_memory.PLANTS,
    *third_agent.PLANTS,
)
