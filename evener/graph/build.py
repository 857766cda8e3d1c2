"""Messages as a networkx graph: nodes are messages, an edge leads from a message to what it caused.

`peers` folds it up: nodes are peers and topics, edges carry how often which type went there.
Attributes are plain strings, numbers and booleans by one rule, so that every exporter can write
them: None is left out, mappings and sequences become JSON text, dates ISO text, keys strings.
"""

import json
import math
from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias

from evener.protocols.digest import JsonObject

if TYPE_CHECKING:
    import networkx as nx

Plain: TypeAlias = str | int | float | bool


def plain(attributes: Mapping[Any, object]) -> dict[str, Plain]:
    """Attributes that every graph format can hold."""
    kept: dict[str, Plain] = {}
    for key, value in attributes.items():
        if value is None:
            continue
        kept[str(key)] = _plain(value)
    return kept


def _plain(value: object) -> Plain:
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date):
        return value.isoformat()
    item = getattr(value, "item", None)
    if callable(item):  # a numpy scalar
        return _plain(item())
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def conversation(messages: Iterable[JsonObject]) -> "nx.DiGraph[str]":
    """One node a message (sender, recipient, type, hop, …), one edge a cause."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    for message in messages:
        node = str(message["id"])
        graph.add_node(node, **plain({k: v for k, v in message.items() if k != "id"}))
        parent = message.get("parent")
        if parent:
            graph.add_edge(str(parent), node)
    return graph


def peers(messages: Iterable[JsonObject]) -> "nx.MultiDiGraph[str]":
    """Peers and topics, with one edge for each message type between two of them and its count."""
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for message in messages:
        sender = str(message.get("sender") or "user")
        recipient = str(message.get("recipient") or f"topic:{message.get('topic', '')}")
        name = str(message["type"])
        if graph.has_edge(sender, recipient, key=name):
            graph[sender][recipient][name]["count"] += 1
        else:
            graph.add_edge(sender, recipient, key=name, type=name, count=1)
    return graph
