"""Model replies by request key, so that a request that was answered once is not paid for again."""

import zlib

from evener.agents.record.schema import Database


class ReplyStore:
    """The `replies` of one `events.db`: bytes in, the same bytes out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> bytes | None:
        """The reply kept under the key, or None."""
        rows = self._database.rows("SELECT body FROM replies WHERE key = ?", (key,))
        return zlib.decompress(rows[0][0]) if rows else None

    def put(self, key: str, body: bytes) -> None:
        """Keep a reply; the first one of a key stays."""
        self._database.rows(
            "INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, zlib.compress(body))
        )
