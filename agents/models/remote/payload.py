"""A request as an OpenAI-compatible server takes it. Only what differs from its defaults is said.

The seed is sent where replies are sampled: a greedy one has none, and equal requests stay equal.
"""

from pydantic import JsonValue

from evener.protocols.digest import JsonObject, canonical
from evener.protocols.message import Message
from evener.protocols.model import Request, Sampling


def payload(
    request: Request,
    name: str,
    *,
    stream: bool = False,
    logprobs: bool = False,
    schemas: bool = False,
) -> JsonObject:
    """The JSON body of one chat completion of the model `name`. `schemas`: whether the server keeps
    to the schema of an answer."""
    body: JsonObject = {
        "model": name,
        "messages": [_message(message) for message in request.messages],
        **sampled(request.sampling),
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters or {"type": "object", "properties": {}},
                },
            }
            for tool in request.tools
        ]
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if logprobs:
        body["logprobs"] = True
    if schemas and request.answer is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": request.answer},
        }
    return body


def sampled(sampling: Sampling) -> JsonObject:
    """Sampling as the OpenAI protocol names it."""
    body: JsonObject = {"max_tokens": sampling.max_tokens, "temperature": sampling.temperature}
    if sampling.top_p != 1:
        body["top_p"] = sampling.top_p
    if sampling.temperature > 0:
        body["seed"] = sampling.seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    return body


def _message(message: Message) -> JsonValue:
    made: JsonObject = {"role": message.role, "content": message.content}
    if message.calls:
        made["content"] = message.content or None
        made["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": canonical(call.arguments)},
            }
            for call in message.calls
        ]
    if message.role == "tool":
        made["tool_call_id"] = message.call_id
    return made
