"""The schedule language: one deterministic grammar for English, Chinese and machine formats."""

from __future__ import annotations

from .parse import Reading, read

__all__ = ["Reading", "read"]
