"""The schedule language: one deterministic grammar, English and Chinese, and the machine forms."""

from __future__ import annotations

from .reading import Reading, read

__all__ = ["Reading", "read"]
