"""What a failure of the engine is called when it reaches whoever waits for a reply."""

from evener.protocols.error import EvenerError, InfraError


def as_infra(failure: Exception) -> EvenerError:
    """The package's own errors as they are; anything else is the machinery's fault."""
    if isinstance(failure, EvenerError):
        return failure
    text = str(failure).strip()
    first = text.splitlines()[0][:200] if text else ""
    memory = isinstance(failure, MemoryError) or "allocate memory" in text
    memory = memory or type(failure).__name__ == "OutOfMemoryError"
    if memory:
        return InfraError(
            f"the engine ran out of memory ({first}); use a smaller batch", kind="out_of_memory"
        )
    return InfraError(f"the engine failed: {type(failure).__name__}: {first}", kind="engine")


def closed() -> InfraError:
    """What a request gets once the engine has been closed."""
    return InfraError("the engine is closed", kind="closed")
