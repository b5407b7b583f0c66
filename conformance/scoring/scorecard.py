"""A library's results, counted and shown as text or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from conformance.scoring.adapter import Adapter, Library
from conformance.scoring.answers import Answer, Crashed, Fires, Hung, Refused, Unsupported
from conformance.scoring.cases import DEFAULT_FOLD, DEFAULT_GAP, Case, Kit
from conformance.scoring.verdicts import Judge, Result, Verdict


@dataclass(frozen=True, slots=True)
class Scorecard:
    library: Library
    results: tuple[Result, ...]

    def count(self, group: str | None = None) -> Counter[Verdict]:
        return Counter(result.verdict for result in self.results if group in (None, result.case.group))

    def groups(self) -> list[str]:
        return list(dict.fromkeys(result.case.group for result in self.results))

    def failures(self) -> list[Result]:
        return [result for result in self.results if result.verdict not in (Verdict.RIGHT, Verdict.UNSUPPORTED)]


def score(command: Sequence[str], kit: Kit, limit: float, wanted: Callable[[Case], bool] = lambda _: True) -> Scorecard:
    """Puts each wanted case to the adapter; raises AdapterUnavailableError when it does not come up."""
    judge = Judge(kit.cases)
    adapter = Adapter(command, limit)
    try:
        results = [judge.judge(case, adapter.ask(case.question())) for case in kit.cases if wanted(case)]
    finally:
        adapter.close()
    return Scorecard(adapter.library, tuple(results))


def as_text(card: Scorecard) -> str:
    widths = [max(12, len(verdict)) for verdict in Verdict]
    lines = [f"{card.library.name} {card.library.version} (zones: {card.library.zones})"]
    lines.append(_row("", "cases", [str(verdict) for verdict in Verdict], widths))
    for group in (*card.groups(), None):
        counted = card.count(group)
        numbers = [str(counted[verdict]) if counted[verdict] else "." for verdict in Verdict]
        lines.append(_row(group or "all", str(counted.total()), numbers, widths))
    return "\n".join(lines)


def _row(name: str, cases: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"  {name:<12}{cases:>6}  {shown}"


def failure_as_text(result: Result) -> str:
    case = result.case
    policy = "".join(
        f", {name} {value}"
        for name, value, default in (("gap", case.gap, DEFAULT_GAP), ("fold", case.fold, DEFAULT_FOLD))
        if value != default
    )
    wanted = "a refusal" if case.fires is None else show_instants(case.fires)
    return (
        f"{result.verdict}: {case.id}: {case.expression!r} in {case.zone}{policy}\n"
        f"    why:      {case.why}\n    expected: {wanted}\n    answered: {show_answer(result.answer)}"
    )


def show_answer(answer: Answer) -> str:
    match answer:
        case Fires(instants=instants):
            return show_instants(instants)
        case Refused(why=why):
            return f"refused: {why}"
        case Unsupported(why=why):
            return f"unsupported: {why}"
        case Crashed(why=why) | Hung(why=why):
            return why
        case _:
            assert_never(answer)


def show_instants(instants: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(instants[:most]) or "nothing"
    return shown if len(instants) <= most else f"{shown}, … ({len(instants)} in all)"


def as_json(card: Scorecard) -> dict[str, Any]:
    return {
        "library": card.library.name,
        "version": card.library.version,
        "zones": card.library.zones,
        "total": {verdict: card.count()[verdict] for verdict in Verdict},
        "groups": {group: {verdict: card.count(group)[verdict] for verdict in Verdict} for group in card.groups()},
        "failures": [
            {"id": result.case.id, "verdict": result.verdict, "answered": show_answer(result.answer)}
            for result in card.failures()
        ],
    }
