"""An outcome that a request itself causes, on whatever engine it runs."""

from evener.protocols.error import EvenerError


class ContextExceeded(EvenerError):
    """The prompt leaves no room for a reply: `prompt_tokens` of a `window` of tokens.

    It ends the episode under its own name. The machinery is not at fault: no retry helps.
    """

    def __init__(self, *, prompt_tokens: int, window: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.window = window
        super().__init__(
            f"the prompt has {prompt_tokens} tokens and the model's window {window}: "
            "no room for a reply"
        )
