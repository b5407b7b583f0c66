"""For those who test with Horae, or write a store of their own: time travel, factories, contract suites."""

from __future__ import annotations

from .travel import TimeTravel

__all__ = ["TimeTravel"]
