"""The few words that a person may choose from, as types; light enough for every door to import."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]
Gap = Literal["next", "shift", "skip"]
Fold = Literal["first", "last", "both"]
