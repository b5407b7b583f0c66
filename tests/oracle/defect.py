"""What a planted defect is: one plausible mistake in one file of the evaluator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """A replacement of text that occurs once in a file of the schedule room; `zones` narrows the search for it."""

    name: str
    reason: str
    file: str
    old: str
    new: str
    zones: tuple[str, ...] = ()


ORDINARY = ("America/New_York", "Europe/Berlin", "Australia/Sydney", "Africa/Casablanca", "Asia/Gaza")
NEW_YORK = ("America/New_York",)
UTC = ("UTC",)
