"""What may be asked of webhooks, and by whom."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

from ...model.accounts.principal import Principal, Scope
from ...model.events.event import EventKind
from ...model.field_checks import check_text
from ...model.limits import KEY_CHARACTERS, NOTE_CHARACTERS
from ...model.refusals import refuse as refuse_task
from ..accounts.rights import refuse_agent

MOST_TYPES: Final = 50
_TYPE_CHARACTERS: Final = 100


def must(who: Principal, scope: Scope) -> None:
    refuse_agent(who, "webhooks")
    who.must(scope)


def acting_for(who: Principal, owner: str | None) -> str:
    """An admin may act for somebody else."""
    if owner is None or owner == who.owner:
        return who.owner
    if not who.admin:
        raise refuse_task("foreign_owner", owner=owner)
    check_text("owner", owner, KEY_CHARACTERS)
    return owner


def checked_types(types: object) -> tuple[str, ...]:
    """Kinds of events, or patterns such as `run.*`; each once."""
    if isinstance(types, str) or not isinstance(types, Collection):
        raise refuse_task("bad_policy", name="types", value=types, wanted="list")
    if len(types) > MOST_TYPES:
        # Each of them is held against everything that happens.
        raise refuse_task("bad_number", name="types", value=len(types), least=0, most=MOST_TYPES)
    for each in types:
        is_short = isinstance(each, str) and len(each) <= _TYPE_CHARACTERS
        if not is_short or not any(fnmatchcase(kind, each) for kind in EventKind):
            raise refuse_task("bad_choice", name="types", value=each, allowed=", ".join(EventKind))
    return tuple(dict.fromkeys(types))


def check_note(note: object) -> None:
    """A note names nothing: what an emoji needs may stand in it."""
    is_text = isinstance(note, str) and len(note) <= NOTE_CHARACTERS and note.isprintable()
    if not is_text:
        raise refuse_task("bad_text", name="note", value=note, most=NOTE_CHARACTERS)


def might_be(name: object) -> bool:
    """Whether some id is like that; no store is asked for what it could never have."""
    return isinstance(name, str) and 1 <= len(name) <= KEY_CHARACTERS and name.isascii() and name.isprintable()
