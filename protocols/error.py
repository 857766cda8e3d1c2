"""One tree of errors; the class says whose fault it is and what the process exits with.

EvenerError
├── UserError             bad input: one line (what, where, what to do), exit 2
│   ├── HarnessError      a harness file or a field path
│   ├── KnowledgeError    K, the harness rewritten for a reviewer, that does not hold together
│   ├── PatchError        a patch that does not apply, changes nothing, or has another base
│   ├── ConfigError       a run configuration or a command-line value
│   ├── DataError         a task file, an empty split, rows that cannot be trained on
│   ├── ModelError        a model path, a download, a missing library, no space for weights
│   └── RunError          a run folder: in use, damaged, not a run
├── InfraError            the machinery failed, not the student: retried, never reward 0
├── ContextExceeded       the prompt leaves no room for a reply: an outcome, and no fault
├── BudgetError           a limit the user set was reached; the run stops cleanly
└── BusError              a message to nobody, a failed handler, a loop of messages
"""


class EvenerError(Exception):
    """Anything this package raises on purpose. `str(error)` is one line fit for a terminal."""


class UserError(EvenerError):
    """Bad input. `where` names the place, `remedy` the next step; both end up in the one line."""

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        line = f"{where}: {what}" if where else what
        stop = "" if line.endswith((".", "?", "!")) else "."
        super().__init__(f"{line}{stop} {remedy}" if remedy else line)


class HarnessError(UserError):
    """A harness that cannot be loaded, rendered or addressed."""


class KnowledgeError(UserError):
    """A K that does not fit its two harnesses, or says what it may not."""


class PatchError(UserError):
    """A patch that does not apply exactly. `reason` is one of the names in `patch.PatchReason`."""

    def __init__(self, what: str, *, reason: str, where: str = "", remedy: str = "") -> None:
        self.reason = reason
        super().__init__(what, where=where, remedy=remedy)


class ConfigError(UserError):
    """A run configuration or a command-line value that makes no sense."""


class DataError(UserError):
    """Tasks, splits or training rows that cannot be used."""


class ModelError(UserError):
    """A model that cannot be found, fetched, read or loaded."""


class RunError(UserError):
    """A run folder that is in use, damaged, or not a run folder."""


class InfraError(EvenerError):
    """The machinery failed: an engine, a server, a sandbox. Never the student's fault."""

    def __init__(self, what: str, *, kind: str = "infra") -> None:
        self.kind = kind
        super().__init__(what)


class BudgetError(EvenerError):
    """A budget is used up: `used` of `limit` `unit`."""

    def __init__(self, unit: str, *, used: float, limit: float) -> None:
        self.unit = unit
        self.used = used
        self.limit = limit
        super().__init__(f"the budget of {limit:g} {unit} is used up ({used:g} used)")


class BusError(EvenerError):
    """A message that could not be delivered, handled or answered."""


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
