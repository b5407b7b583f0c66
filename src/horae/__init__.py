"""Horae: a durable, precise scheduler for AI agents and services."""

from __future__ import annotations

from .errors import HoraeError, InvalidSchedule
from .public import describe, parse, preview

__version__ = "0.1.0"

__all__ = ["HoraeError", "InvalidSchedule", "describe", "parse", "preview"]
