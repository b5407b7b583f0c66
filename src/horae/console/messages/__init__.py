"""Every text of the console in English and Chinese, by name: one module per page; templates have no text of their own."""

from __future__ import annotations

from typing import Final

from ...message import Message
from . import activity, approvals, edit, frame, lanes, now, runs, settings, simple, task, tasks

_PARTS: Final = (
    frame.TEXTS,
    now.TEXTS,
    tasks.TEXTS,
    task.TEXTS,
    runs.TEXTS,
    lanes.TEXTS,
    activity.TEXTS,
    approvals.TEXTS,
    settings.TEXTS,
    simple.TEXTS,
    edit.TEXTS,
)
TEXTS: Final[dict[str, Message]] = {name: text for part in _PARTS for name, text in part.items()}
