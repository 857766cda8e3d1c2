"""Write a conversation graph: text and Mermaid for reading, JSON and GraphML for other programs."""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from evener.graph.build import plain
from evener.protocols.error import ConfigError

if TYPE_CHECKING:
    import networkx as nx


def text(graph: "nx.MultiDiGraph[str]") -> str:
    """One line a kind of message: `conductor → student  RolloutRequest × 412`."""
    lines = [
        f"{sender} → {recipient}  {data['type']} × {data['count']}"
        for sender, recipient, data in graph.edges(data=True)
    ]
    return "\n".join(lines)


def mermaid(graph: "nx.MultiDiGraph[str]") -> str:
    """A Mermaid flowchart of peers and topics; labels are quoted and escaped."""
    names = {node: f"n{index}" for index, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    lines += [f'    {names[node]}["{_escaped(node)}"]' for node in graph.nodes]
    lines += [
        f'    {names[a]} -->|"{_escaped(data["type"])} × {data["count"]}"| {names[b]}'
        for a, b, data in graph.edges(data=True)
    ]
    return "\n".join(lines)


def as_json(graph: "nx.Graph[str]") -> str:
    """networkx's node-link form."""
    import networkx as nx

    return json.dumps(nx.node_link_data(graph, edges="edges"), ensure_ascii=False, indent=1)


def graphml(graph: "nx.Graph[str]") -> str:
    """GraphML. An attribute that has several types in the graph is written as text throughout."""
    import networkx as nx

    copy: Any = graph.copy()
    for elements in (copy.nodes(data=True), copy.edges(data=True)):
        rows: list[dict[str, Any]] = [row[-1] for row in elements]
        for row in rows:
            clean = plain(row)
            row.clear()
            row.update(clean)
        for name in {key for row in rows for key in row}:
            kinds: set[object] = {type(row[name]) for row in rows if name in row}
            if len(kinds) > 1:
                for row in rows:
                    if name in row:
                        row[name] = str(row[name])
        for row in rows:
            for key, value in row.items():
                if isinstance(value, str):
                    row[key] = _xml_text(value)
    out = io.BytesIO()
    cast("Any", nx).write_graphml(copy, out)  # its own types are incomplete
    return out.getvalue().decode("utf-8")


def _escaped(label: str) -> str:
    entities = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "\n": " ", "|": "#124;"}
    return "".join(entities.get(char, char) for char in label)


def _xml_text(value: str) -> str:
    """XML 1.0 has no control characters: they are written as their escapes."""
    return "".join(
        char
        if char in "\t\n\r" or (ord(char) >= 32 and not 0xD800 <= ord(char) <= 0xDFFF)
        else f"\\u{ord(char):04x}"
        for char in value
    )


FORMATS: dict[str, Callable[[Any], str]] = {
    "text": text,
    "mermaid": mermaid,
    "json": as_json,
    "graphml": graphml,
}


def writer(name: str) -> Callable[[Any], str]:
    """The exporter of that name, or a ConfigError that lists them."""
    if name not in FORMATS:
        raise ConfigError(
            f"no graph format {name!r}", where="--format", remedy=f"use {', '.join(FORMATS)}"
        )
    return FORMATS[name]
