"""The schedule language: one deterministic grammar for English, Chinese and machine formats."""

from __future__ import annotations

from .lists import ParsedText
from .parse import parse_text

__all__ = ["ParsedText", "parse_text"]
