"""Literal types for language, gap and fold, in a module without imports so that every front end can use it cheaply."""

from __future__ import annotations

from typing import Final, Literal

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
Gap = Literal["next", "shift", "skip"]
Fold = Literal["first", "last", "both"]
