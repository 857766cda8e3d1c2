"""K on disk: YAML, read as strictly as a harness file. What loads was checked when it was made, and
is checked again by whoever uses it."""

from pathlib import Path

from pydantic import ValidationError

from evener.agents.harness import document
from evener.agents.harness.complaint import complaint
from evener.agents.harness.load import dump_document, read_text
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.error import HarnessError, KnowledgeError
from evener.protocols.knowledge import Knowledge


def load(path: Path) -> Knowledge:
    """The K in a file. Raises KnowledgeError."""
    try:
        text = read_text(path)
    except HarnessError as error:
        raise KnowledgeError(error.what, where=error.where, remedy=_NAMED) from None
    return parse_yaml(text, where=str(path))


def parse_yaml(text: str, *, where: str) -> Knowledge:
    """The K in a YAML text; `where` names its source in messages. Raises KnowledgeError."""
    try:
        return _from_document(document.read(text.removeprefix("\ufeff"), where=where), where)
    except HarnessError as error:
        raise KnowledgeError(error.what, where=error.where, remedy=_REMEDY) from None


def dump_yaml(knowledge: Knowledge) -> str:
    """YAML that loads as an equal K; equal K give equal bytes."""
    return dump_document(Knowledge.model_validate_json(canonical(knowledge.document())).document())


_NAMED = "give the path of a file that evener harness adapt --out wrote"
_REMEDY = "Make it anew with evener harness adapt"


def _from_document(data: JsonObject, where: str) -> Knowledge:
    try:
        return Knowledge.model_validate_json(canonical(data))
    except ValidationError as error:
        if "prompt" in data or "tools" in data:
            raise KnowledgeError(
                "this is a harness, and no K", where=where, remedy=_REMEDY
            ) from None
        what, path, remedy = complaint(error, data, Knowledge)
        raise KnowledgeError(
            what, where=f"{where}: {path}" if path else where, remedy=remedy
        ) from None
    except UnicodeEncodeError:
        raise KnowledgeError("text with half a surrogate pair", where=where) from None
