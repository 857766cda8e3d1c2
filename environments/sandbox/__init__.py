"""A Python interpreter for code that a model wrote: shut in, warm, one an episode.

    async with await Sandbox.open(required="bwrap") as sandbox:
        tool = sandbox.tool()
        await tool.start()
        execution = await tool.run("print(6 * 7)", 5.0)
        await tool.close()

`Sandbox.protection` says what is in force; an environment records its level with every score.
"""

from evener.environments.sandbox.pool import Sandbox
from evener.environments.sandbox.port import ErrorKind, Execution, PythonTool
from evener.environments.sandbox.protection import (
    LEVELS,
    Level,
    Limits,
    Protection,
    SandboxError,
    require,
)

__all__ = [
    "LEVELS",
    "ErrorKind",
    "Execution",
    "Level",
    "Limits",
    "Protection",
    "PythonTool",
    "Sandbox",
    "SandboxError",
    "require",
]
