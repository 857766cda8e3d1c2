"""References into a store by content digest: what travels on the bus instead of bodies."""

from evener.protocols.digest import Wire
from evener.protocols.trajectory import Outcome


class EpisodeRef(Wire):
    """A finished episode: where its body is, and what most readers want to know of it. Calls and
    tokens are all that it took, those answered from memory too: equal episodes say the same."""

    trajectory: str
    episode: str
    task: str
    kind: str
    outcome: Outcome
    reward: float | None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    reused: bool = False

    @property
    def tokens(self) -> int:
        """Tokens read and written, over all calls."""
        return self.prompt_tokens + self.completion_tokens
