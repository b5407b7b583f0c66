"""Checks of arguments and rights for webhooks."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

from ...model.accounts.principal import Principal, Scope
from ...model.events.event import EventKind
from ...model.limits import KEY_CHARACTERS, NOTE_CHARACTERS
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_text
from ..accounts.rights import refuse_agent

MAX_TYPES: Final = 50
_TYPE_CHARACTERS: Final = 100


def check_scope(principal: Principal, scope: Scope) -> None:
    refuse_agent(principal, "webhooks")
    principal.require_scope(scope)


def check_owner(principal: Principal, owner: str | None) -> str:
    """Return the owner to act for; only an admin may name another one."""
    if owner is None or owner == principal.owner:
        return principal.owner
    if not principal.admin:
        raise refuse_task("foreign_owner", owner=owner)
    check_text("owner", owner, KEY_CHARACTERS)
    return owner


def check_types(types: object) -> tuple[str, ...]:
    """Check event kinds, or patterns such as `run.*`; return each once."""
    if isinstance(types, str) or not isinstance(types, Collection):
        raise refuse_task("bad_policy", name="types", value=types, wanted="list")
    if len(types) > MAX_TYPES:
        # Each of them is matched against every event.
        raise refuse_task("bad_number", name="types", value=len(types), least=0, most=MAX_TYPES)
    for each in types:
        is_short = isinstance(each, str) and len(each) <= _TYPE_CHARACTERS
        if not is_short or not any(fnmatchcase(kind, each) for kind in EventKind):
            raise refuse_task("bad_choice", name="types", value=each, allowed=", ".join(EventKind))
    return tuple(dict.fromkeys(types))


def check_note(note: object) -> None:
    """Check a note; unlike names, it may contain emoji."""
    is_text = isinstance(note, str) and len(note) <= NOTE_CHARACTERS and note.isprintable()
    if not is_text:
        raise refuse_task("bad_text", name="note", value=note, most=NOTE_CHARACTERS)


def is_possible_id(name: object) -> bool:
    """Whether the value can be an id; other values need no lookup."""
    return isinstance(name, str) and 1 <= len(name) <= KEY_CHARACTERS and name.isascii() and name.isprintable()
