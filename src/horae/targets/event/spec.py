"""Validates the spec of an event target: a topic and an optional text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...model.events.event import EventKind
from ...model.limits import LOG_LINE_CHARACTERS
from .refusals import refuse

DEFAULT_TOPIC: Final = "task.triggered"
_KEYS: Final = ("topic", "say")
_RESERVED_PREFIXES: Final = ("task.", "run.")
_RESERVED_TOPICS: Final = frozenset(EventKind)
"""Horae's own events: listeners must be able to trust that Horae wrote them."""
_TOPIC: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")


def check_spec(spec: Any) -> dict[str, Any]:
    """Return the complete, canonical spec. Raises a `Refusal`."""
    if not isinstance(spec, Mapping):
        raise refuse("event_spec", value=spec)
    for name in spec:
        if name not in _KEYS:
            raise refuse("event_unknown_key", name=name, allowed=", ".join(_KEYS))
    topic, say = spec.get("topic", DEFAULT_TOPIC), spec.get("say")
    if not isinstance(topic, str) or not _TOPIC.fullmatch(topic):
        raise refuse("event_topic", value=topic)
    if topic != DEFAULT_TOPIC and (topic.lower().startswith(_RESERVED_PREFIXES) or topic.lower() in _RESERVED_TOPICS):
        raise refuse("event_topic_reserved", value=topic)
    if say is not None and not _is_storable_text(say):
        raise refuse("event_say", value=say, most=LOG_LINE_CHARACTERS)
    return {"topic": topic, "say": say}


def _is_storable_text(say: Any) -> bool:
    """Whether it is text without NUL and lone surrogates, which no store accepts, within the length limit."""
    if not isinstance(say, str) or len(say) > LOG_LINE_CHARACTERS or "\0" in say:
        return False
    return say == say.encode(errors="replace").decode()
