"""evener and AgentChat, each in the other's hands; see docs/agentchat.md.

Importing this loads autogen_agentchat, and nothing else here imports it.
"""

from evener.agents.agentchat.client import ModelClient, provider_client
from evener.agents.agentchat.model import ClientModel
from evener.agents.agentchat.seat import Seat
from evener.agents.agentchat.student import AgentModel, agent_episode
from evener.agents.agentchat.team import RunEvent, RunTeam

__all__ = [
    "AgentModel",
    "ClientModel",
    "ModelClient",
    "RunEvent",
    "RunTeam",
    "Seat",
    "agent_episode",
    "provider_client",
]
