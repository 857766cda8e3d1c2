"""A log that lives in memory, for runs that leave nothing behind."""

from evener.protocols.digest import JsonObject


class MemoryLog:
    """Keeps its entries in `entries`, oldest first."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, JsonObject]] = []

    def append(self, kind: str, body: JsonObject) -> int:
        """Keep one entry; returns its sequence number, from 1."""
        self.entries.append((kind, body))
        return len(self.entries)

    def of(self, kind: str) -> list[JsonObject]:
        """The bodies of one kind."""
        return [body for found, body in self.entries if found == kind]
