"""The schedule language: one deterministic grammar, English and Chinese, and the machine forms."""

from __future__ import annotations

from .parse import Reading, read

__all__ = ["Reading", "read"]
