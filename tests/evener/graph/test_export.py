import io
import json
from datetime import UTC, datetime
from typing import Any

import networkx as nx
import numpy as np
import pytest

from evener.graph.build import conversation, peers, plain
from evener.graph.export import as_json, graphml, mermaid, text, writer
from evener.protocols.digest import JsonObject
from evener.protocols.error import ConfigError

MESSAGES: list[JsonObject] = [
    {"id": "1", "parent": None, "sender": "user", "recipient": "conductor", "type": "StartRun"},
    {"id": "2", "parent": "1", "sender": "conductor", "recipient": "student", "type": "Rollout"},
    {"id": "3", "parent": "1", "sender": "conductor", "recipient": "student", "type": "Rollout"},
    {"id": "4", "parent": "1", "sender": "conductor", "topic": "round", "type": "Announcement"},
]


def test_messages_are_nodes_and_causes_are_edges() -> None:
    graph = conversation(MESSAGES)
    assert set(graph.nodes) == {"1", "2", "3", "4"}
    assert set(graph.edges) == {("1", "2"), ("1", "3"), ("1", "4")}


def test_peers_fold_equal_messages_into_a_count() -> None:
    graph = peers(MESSAGES)
    assert "conductor → student  Rollout × 2" in text(graph)
    assert "topic:round" in text(graph)


def test_mermaid_labels_cannot_break_out() -> None:
    graph = peers([{"id": "1", "sender": 'a"]<script>', "recipient": "b", "type": "x|y"}])
    drawn = mermaid(graph)
    assert "<script>" not in drawn
    assert drawn.count('"]') == 2


def test_awkward_attributes_survive_graphml_and_come_back() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node(
        "student",
        reward=None,
        meta={"turns": 3},
        tags=["a", "b"],
        ts=datetime(2026, 1, 2, tzinfo=UTC),
        n=np.int64(3),
        bad=float("nan"),
        bell="ring\x07",
    )
    attributes: dict[Any, Any] = graph.nodes["student"]
    attributes[7] = "seven"
    back = nx.read_graphml(io.BytesIO(graphml(graph).encode()))
    node = back.nodes["student"]
    assert "reward" not in node
    assert json.loads(node["meta"]) == {"turns": 3}
    assert json.loads(node["tags"]) == ["a", "b"]
    assert node["ts"].startswith("2026-01-02T")
    assert node["n"] == 3
    assert node["7"] == "seven"
    assert node["bad"] == "nan"
    assert node["bell"] == "ring\\u0007"


def test_one_attribute_with_two_types_becomes_text() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node("a", reward=1)
    graph.add_node("b", reward="none")
    back = nx.read_graphml(io.BytesIO(graphml(graph).encode()))
    assert {back.nodes[n]["reward"] for n in back.nodes} == {"1", "none"}


def test_json_is_read_back_as_the_same_graph() -> None:
    graph = conversation(MESSAGES)
    back = nx.node_link_graph(json.loads(as_json(graph)), edges="edges")
    assert nx.utils.graphs_equal(graph, back)


def test_plain_leaves_out_none_and_keeps_booleans() -> None:
    assert plain({"a": None, "b": True, 3: 1.5}) == {"b": True, "3": 1.5}


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="text, mermaid, json, graphml"):
        writer("svg")
