"""What an interpreter prints: read without waiting, kept up to a limit, counted beyond it."""

import codecs
import os

CHUNK = 1 << 16


class Output:
    """The beginning of a stream, and how long it was."""

    def __init__(self, descriptor: int, keep: int) -> None:
        self.descriptor = descriptor
        self._keep = keep
        self.clear()

    def clear(self) -> None:
        """Forget what was read."""
        self._parts: list[bytes] = []
        self._kept = 0
        self.total = 0

    def read(self) -> int:
        """Take a chunk at most: its length, 0 at the end of the stream, −1 where nothing is."""
        try:
            part = os.read(self.descriptor, CHUNK)
        except BlockingIOError:
            return -1
        self.total += len(part)
        if self._kept < self._keep:
            self._parts.append(part[: self._keep - self._kept])
            self._kept += len(self._parts[-1])
        return len(part)

    @property
    def cut(self) -> bool:
        """Whether more came than is kept."""
        return self.total > self._keep

    def text(self) -> str:
        """What is kept, with a word on what is not and on bytes that are no text."""
        data = b"".join(self._parts)
        notes = f"\n[the first {self._kept} of {self.total} bytes]\n" if self.cut else ""
        try:
            # a character may be cut in two at the end
            text = codecs.getincrementaldecoder("utf-8")().decode(data, final=not self.cut)
        except UnicodeDecodeError:
            text = data.decode("utf-8", "replace")
            notes += "\n[some of these bytes are not UTF-8 and are shown as \ufffd]\n"
        return text + notes
