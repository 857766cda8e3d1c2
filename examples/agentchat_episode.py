"""An `AssistantAgent` as the student of one episode at the shop desk."""

import asyncio
import sys

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ChatCompletionClient

from evener import Environment, Harness, Trajectory
from evener.agents.agentchat import Seat, agent_episode, provider_client
from evener.agents.harness.load import parse_yaml
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.task import Split

TEXT = harness_path("hand").read_text("utf-8").replace("format: json", "format: native")


def clerk(seat: Seat) -> AssistantAgent:
    """The agent: the harness has its prompt, its tools and what it is shown."""
    return AssistantAgent(
        "clerk",
        seat.client,
        workbench=seat.workbench,
        model_context=seat.context,
        system_message=None,
        max_tool_iterations=20,
    )


async def serve(client: ChatCompletionClient, desk: Environment, harness: Harness) -> Trajectory:
    """One task of the desk, from the first prompt to the score."""
    (task,) = desk.tasks(Split.TEST, count=1, seed=0)
    return await agent_episode(desk, task, harness, client, clerk, name="clerk")


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "openai/gpt-4o-mini"
    native = parse_yaml(TEXT, where="hand.yaml")
    print(asyncio.run(serve(provider_client(name), Storefront(), native)).model_dump_json())
