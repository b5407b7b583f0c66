"""What an assistant says of a task becomes the wire's JSON: in our words, or in those of NanoClaw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ..model.invisible_characters import without_ignorable
from ..model.limits import NAME_CHARACTERS, shortened
from ..schedule import to_json
from ..schedule.compat import Note, nanoclaw
from ..schedule.text.zone_words import zone_named
from ..wire.fields import check_fields
from ..wire.tasks import SHORT_TARGETS
from .arguments import needed
from .call import Call, Said
from .lines import plain
from .refusals import refuse

TASK_ID: Final = ("task_id",)
"""NanoClaw's name for `id`."""
ORIGINALS: Final = ("prompt", "schedule_type", "schedule_value", "context_mode")
"""NanoClaw's names for `do` and `when`, and for how much of a conversation a prompt is given."""
_SCHEDULE: Final = ("schedule_type", "schedule_value")
_MODES: Final = ("isolated", "group")
_NAME: Final = 60


def id_of(said: Said) -> str:
    """A task as it is named: by id, name or key."""
    return str(_either(said, "id", "task_id") or needed(said, "id"))


def _either(said: Said, ours: str, theirs: str) -> Any:
    if ours in said and theirs in said:
        raise refuse("two_spellings", one=ours, other=theirs)
    found = said.get(ours, said.get(theirs))
    if theirs in said and not isinstance(found, str):
        raise refuse("bad_do", problem=theirs)
    return found


def zone_of(call: Call, said: Said) -> str | None:
    """The zone that was passed (cities are understood too), or else the owner's."""
    return zone_named(said["zone"], None) if "zone" in said else call.who.zone


def when_of(said: Said, zone: str | None, owner: str) -> tuple[Any, tuple[Note, ...]]:
    """The schedule as it was said, for the wire; with notes where another dialect means something that may surprise."""
    theirs = {name: said[name] for name in _SCHEDULE if name in said}
    if not theirs:
        return said.get("when"), ()
    if "when" in said:
        raise refuse("two_spellings", one="when", other=next(iter(theirs)))
    if zone is None:
        raise refuse("zone_needed", owner=owner)
    understood = nanoclaw.read(theirs, zone=zone)
    return to_json(understood.schedule.with_defaults(zone)), understood.notes


def work_of(said: Said) -> dict[str, Any]:
    """The target, and the payload where there is one; empty when nothing was said about it."""
    do = _either(said, "do", "prompt")
    mode = _mode(said)
    if do is None:
        return {} if mode is None else {"payload": {"context_mode": mode}}
    work = _work(do)
    if mode is not None:
        work["payload"] = {**work.get("payload", {}), "context_mode": mode}
    return work


def _mode(said: Said) -> str | None:
    mode = said.get("context_mode")
    if mode is not None and mode not in _MODES:
        raise refuse("bad_do", problem=f"context_mode: {' / '.join(_MODES)}")
    return mode


def _work(do: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(do, str):
        packed = _unpacked(do)
        if packed is None:
            return _prompt(do)
        do = packed
    said = check_fields("do", do, (*SHORT_TARGETS, "prompt", "payload"))
    if "prompt" in said:
        return _prompt(said["prompt"]) | {name: said[name] for name in said if name != "prompt"}
    if not any(name in said for name in SHORT_TARGETS):
        raise refuse("bad_do", problem=", ".join(said) or "{}")
    return dict(said)


def _prompt(text: object) -> dict[str, Any]:
    """A prompt to itself: whoever listens to the events of this owner, the assistant among them, is told it then."""
    if not isinstance(text, str) or not text.strip():
        raise refuse("bad_do", problem=repr(text))
    return {"say": text}


def _unpacked(text: str) -> dict[str, Any] | None:
    """Some assistants pass an object as text that has it as JSON; a prompt that only looks so is left alone."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_work = isinstance(found, dict) and any(name in found for name in (*SHORT_TARGETS, "prompt"))
    return found if is_work else None


def usual_name(work: Mapping[str, Any]) -> str:
    """What a task is called whose maker gave it no name: after what it does."""
    kind = next((name for name in SHORT_TARGETS if name in work), "task")
    value = work.get(kind)
    if isinstance(value, Mapping):
        value = value.get("url") or value.get("argv") or value.get("name") or value.get("topic") or kind
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return shortened(plain(without_ignorable(str(value))), min(_NAME, NAME_CHARACTERS)) or kind
