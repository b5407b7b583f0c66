"""The cases of the kit, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).resolve().parent.parent / "cases"
DEFAULT_GAP, DEFAULT_FOLD = "next", "first"

# A question about something that must be refused needs a window too: short, so that a library that accepts it is not
# kept busy, and ordinary, so that nothing else is asked.
_ORDINARY_WINDOW = {"zone": "UTC", "after": "2026-01-01T00:00:00Z", "until": "2026-01-01T02:00:00Z"}


@dataclass(frozen=True, slots=True)
class Case:
    """One question and its answer: instants, or None where the expression must be refused.

    `otherwise` holds what would be right under other policies, where no case of its own asks for them.
    """

    id: str
    expression: str
    zone: str
    after: str
    until: str
    gap: str
    fold: str
    fires: tuple[str, ...] | None
    otherwise: tuple[tuple[str, ...], ...]
    tags: tuple[str, ...]
    why: str

    @property
    def group(self) -> str:
        return self.tags[0]

    @property
    def window(self) -> tuple[str, str, str, str]:
        """What is asked, policies apart: cases that share it are siblings."""
        return self.expression, self.zone, self.after, self.until

    def question(self) -> dict[str, str]:
        asked = ("id", "expression", "zone", "after", "until", "gap", "fold")
        return {name: getattr(self, name) for name in asked}


@dataclass(frozen=True, slots=True)
class Kit:
    tzdata: str
    cases: tuple[Case, ...]

    def groups(self) -> list[str]:
        return list(dict.fromkeys(case.group for case in self.cases))


def load_kit(folder: Path = CASES) -> Kit:
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    cases = [_case(entry) for file in files for entry in (*file["fires"], *file["refused"])]
    order = {group: place for place, group in enumerate(_GROUPS)}
    cases.sort(key=lambda case: order.get(case.group, len(order)))
    return Kit(tzdata=max(file["tzdata"] for file in files), cases=tuple(cases))


_GROUPS = (
    "dialect",
    "calendar",
    "gap",
    "fold",
    "flowing",
    "dateline",
    "history",
    "boundaries",
    "far-future",
    "refused",
)


def _case(entry: dict[str, Any]) -> Case:
    entry = {**_ORDINARY_WINDOW, **entry}
    fires = entry.get("fires")
    return Case(
        id=entry["id"],
        expression=entry["expression"],
        zone=entry["zone"],
        after=entry["after"],
        until=entry["until"],
        gap=entry.get("gap", DEFAULT_GAP),
        fold=entry.get("fold", DEFAULT_FOLD),
        fires=None if fires is None else tuple(fires),
        otherwise=tuple(tuple(other["fires"]) for other in entry.get("otherwise", ())),
        tags=tuple(entry["tags"]),
        why=entry["why"],
    )
