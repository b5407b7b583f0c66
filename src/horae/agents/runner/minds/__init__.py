"""Minds: what answers a prompt. Each is a module of its own, and a library that it needs is imported when it is chosen."""

from __future__ import annotations

from .mind import Answer, Mind, MindFailed, ask

__all__ = ["Answer", "Mind", "MindFailed", "ask"]
