"""An outcome that a request itself causes, on whatever engine it runs."""

from evener.protocols.error import EvenerError


class ContextExceeded(EvenerError):
    """The prompt leaves no room for a reply: `prompt_tokens` of a `window` of tokens, each None
    where a server does not tell; `said` are then its words.

    It ends the episode under its own name. The machinery is not at fault: no retry helps.
    """

    def __init__(self, *, prompt_tokens: int | None, window: int | None, said: str = "") -> None:
        self.prompt_tokens = prompt_tokens
        self.window = window
        if prompt_tokens is None or window is None:
            super().__init__(f"the prompt does not fit the model's window: {said}")
            return
        super().__init__(
            f"the prompt has {prompt_tokens} tokens and the model's window {window}: "
            "no room for a reply"
        )
