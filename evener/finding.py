"""One line of what `evener doctor` found. Nothing secret has a field here."""

from typing import Literal

from evener.protocols.digest import Wire

Group = Literal["evener", "libraries", "engines", "machine", "isolation", "keys"]
State = Literal["ok", "missing", "absent"]


class Finding(Wire):
    """`missing` keeps the loop from running on the embedded student, `absent` does not; `remedy`
    says what to do where something is not there."""

    group: Group
    name: str
    state: State
    detail: str
    remedy: str = ""
