"""An `AssistantAgent` on any model that evener reaches, here `openai/gpt-4o-mini` by default."""

import asyncio
import sys

from autogen_agentchat.agents import AssistantAgent

from evener.agents.agentchat import ModelClient, provider_client

PRICES = {"red chair": 11, "green candle": 52}


async def price(item: str) -> str:
    """The price of one piece of an item."""
    return str(PRICES.get(item, "no such item"))


async def ask(client: ModelClient, question: str) -> str:
    """What the agent says in the end; its tool is the function above."""
    agent = AssistantAgent("clerk", client, tools=[price], max_tool_iterations=5)
    try:
        return (await agent.run(task=question)).messages[-1].to_text()
    finally:
        await client.close()


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "openai/gpt-4o-mini"
    print(asyncio.run(ask(provider_client(name), "What do 3 red chairs cost?")))
