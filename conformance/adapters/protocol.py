"""The adapter's side of the protocol, for libraries that Python can import: answer questions line by line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from zoneinfo import ZoneInfo

import tzdata

# A library that does not advance would fill the memory before the scorer's time limit; no case has so many fires.
MOST_FIRES = 2000


@dataclass(frozen=True, slots=True)
class Question:
    expression: str
    zone: str
    after: datetime
    until: datetime
    gap: str
    fold: str

    @property
    def start(self) -> datetime:
        """`after` on the wall clock of the zone: what most libraries want to be given."""
        return self.after.astimezone(ZoneInfo(self.zone))


class UnsupportedError(Exception):
    """The library has no notion of what the question asks for."""


Fires = Callable[[Question], Iterable[datetime]]


def serve(
    library: str,
    fires: Fires,
    refusals: tuple[type[Exception], ...],
    *,
    policies: bool = False,
    release: str | None = None,
) -> None:
    """Answer until the questions end. Any exception but `refusals` ends the process: the scorer counts it as a crash.

    Without `policies` the library has one behaviour at clock changes, and questions that choose one are out of reach.
    """
    _say({"library": library, "version": release or version(library), "zones": f"tzdata {tzdata.IANA_VERSION}"})
    for line in sys.stdin:
        asked = json.loads(line)
        _say({"id": asked["id"], **_answer(_question(asked), fires, refusals, policies=policies)})


def _answer(
    question: Question, fires: Fires, refusals: tuple[type[Exception], ...], *, policies: bool
) -> dict[str, object]:
    if not policies and (question.gap, question.fold) != ("next", "first"):
        return {"unsupported": "no choice of gap or fold"}
    try:
        return {"fires": list(_within(question, fires(question)))}
    except UnsupportedError as error:
        return {"unsupported": str(error)}
    except refusals as error:
        return {"refused": str(error)}


def walk(following: Callable[[datetime], datetime | None], start: datetime) -> Iterator[datetime]:
    """The fires of a library that answers "what comes after this?"."""
    instant = following(start)
    while instant is not None:
        yield instant
        instant = following(instant)


def _within(question: Question, fires: Iterable[datetime]) -> Iterator[str]:
    for number, instant in enumerate(fires):
        if instant.astimezone(UTC) > question.until or number == MOST_FIRES:
            return
        yield instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _question(asked: dict[str, str]) -> Question:
    after, until = (datetime.fromisoformat(asked[name]).astimezone(UTC) for name in ("after", "until"))
    return Question(asked["expression"], asked["zone"], after, until, asked["gap"], asked["fold"])


def _say(message: dict[str, object]) -> None:
    print(json.dumps(message), flush=True)
