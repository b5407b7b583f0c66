"""Every text of the console in English and Chinese, by name: one module per page; templates have no text of their own."""

from __future__ import annotations

from typing import Final

from ...message import Message
from . import (
    activity,
    approvals,
    budgets,
    calendar,
    chats,
    edit,
    frame,
    groups,
    lanes,
    now,
    plans,
    runs,
    settings,
    simple,
    streams,
    task,
    tasks,
)

_PARTS: Final = (
    frame.TEXTS,
    now.TEXTS,
    tasks.TEXTS,
    task.TEXTS,
    edit.TEXTS,
    runs.TEXTS,
    calendar.TEXTS,
    lanes.TEXTS,
    plans.TEXTS,
    streams.TEXTS,
    groups.TEXTS,
    chats.TEXTS,
    activity.TEXTS,
    approvals.TEXTS,
    budgets.TEXTS,
    settings.TEXTS,
    simple.TEXTS,
)
TEXTS: Final[dict[str, Message]] = {name: text for part in _PARTS for name, text in part.items()}
