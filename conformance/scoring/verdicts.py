"""Judges answers: right, wrong in one of several ways, or out of reach of the library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import assert_never

from conformance.scoring.answers import Answer, Crashed, Fires, Hung, Refused, Unsupported
from conformance.scoring.cases import Case


class Verdict(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    OTHER_POLICY = "other policy"  # wrong, but right for another choice of gap or fold
    REFUSED_WRONGLY = "refused wrongly"
    ACCEPTED_WRONGLY = "accepted wrongly"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"
    HUNG = "hung"


@dataclass(frozen=True, slots=True)
class Result:
    case: Case
    answer: Answer
    verdict: Verdict


class Judge:
    """Knows all cases, because the siblings of one say what would be right under another policy."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._siblings: dict[tuple[str, str, str, str], list[Case]] = {}
        for case in cases:
            self._siblings.setdefault(case.window, []).append(case)

    def judge(self, case: Case, answer: Answer) -> Result:
        return Result(case, answer, self._verdict(case, answer))

    def _verdict(self, case: Case, answer: Answer) -> Verdict:
        match answer:
            case Fires(instants=instants):
                return self._of_fires(case, instants)
            case Refused():
                return Verdict.RIGHT if case.fires is None else Verdict.REFUSED_WRONGLY
            case Unsupported():
                return Verdict.UNSUPPORTED
            case Crashed():
                return Verdict.CRASHED
            case Hung():
                return Verdict.HUNG
            case _:
                assert_never(answer)

    def _of_fires(self, case: Case, instants: tuple[str, ...]) -> Verdict:
        if case.fires is None:
            return Verdict.ACCEPTED_WRONGLY
        given = _normal(instants)
        if given == _normal(case.fires):
            return Verdict.RIGHT
        siblings = [other.fires for other in self._siblings.get(case.window, []) if other.fires is not None]
        meant = any(_normal(fires) == given for fires in (*siblings, *case.otherwise))
        return Verdict.OTHER_POLICY if meant else Verdict.WRONG


def _normal(instants: tuple[str, ...]) -> list[datetime | str]:
    return [_instant(text) for text in instants]


def _instant(text: str) -> datetime | str:
    """An instant, however it is spelt; text that is none equals nothing but itself."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return text
    return instant.astimezone(UTC) if instant.tzinfo else text
