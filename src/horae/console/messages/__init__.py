"""Every text of the console in English and Chinese, by name: one module per page; templates have no text of their own."""

from __future__ import annotations

from typing import Final

from ...message import Message
from . import frame, now, scripts

_PARTS: Final = (frame.TEXTS, now.TEXTS, scripts.TEXTS)
TEXTS: Final[dict[str, Message]] = {name: text for part in _PARTS for name, text in part.items()}
