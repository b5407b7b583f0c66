"""Schedule dialects of other systems: each is read into a Horae schedule and can be written back without loss."""

from __future__ import annotations

from . import dailyuse, fun_ai_station, nanoclaw, zero
from .translation import Note, Translation

__all__ = ["Note", "Translation", "dailyuse", "fun_ai_station", "nanoclaw", "zero"]
