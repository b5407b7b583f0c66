"""What a task says about its event: a topic, and perhaps a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...model.events.event import EventKind
from ...model.limits import LOG_LINE_CHARACTERS
from .refusals import refuse

TOPIC: Final = "task.triggered"
_KEYS: Final = ("topic", "say")
_OWN: Final = ("task.", "run.")
_KINDS: Final = frozenset(EventKind)
"""What only Horae tells of tasks and runs: who listens to that must be able to believe it."""
_TOPIC: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


def checked_spec(spec: Any) -> dict[str, Any]:
    """Complete and canonical. Raises a `Refusal`."""
    if not isinstance(spec, Mapping):
        raise refuse("event_spec", value=spec)
    for name in spec:
        if name not in _KEYS:
            raise refuse("event_unknown_key", name=name, allowed=", ".join(_KEYS))
    topic, say = spec.get("topic", TOPIC), spec.get("say")
    if not isinstance(topic, str) or not _TOPIC.fullmatch(topic):
        raise refuse("event_topic", value=topic)
    if topic != TOPIC and (topic.lower().startswith(_OWN) or topic.lower() in _KINDS):
        raise refuse("event_topic_reserved", value=topic)
    if say is not None and not _can_be_said(say):
        raise refuse("event_say", value=say, most=LOG_LINE_CHARACTERS)
    return {"topic": topic, "say": say}


def _can_be_said(say: Any) -> bool:
    """No NUL and no halves of characters: no store could keep them."""
    if not isinstance(say, str) or len(say) > LOG_LINE_CHARACTERS or "\0" in say:
        return False
    return say == say.encode(errors="replace").decode()
