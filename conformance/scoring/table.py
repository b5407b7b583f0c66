"""Writes docs/conformance.md: results of each library by case group, with notes that this run confirms."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.scoring.answers import Answer, Fires
from conformance.scoring.cases import Kit
from conformance.scoring.known import KNOWN
from conformance.scoring.scorecard import Scorecard
from conformance.scoring.verdicts import Result, Verdict

_HERE = Path(__file__).resolve().parent
_TEMPLATE = _HERE / "conformance.template.md"
_NOTES = _HERE / "notes.json"
_GROUP_NOTES = {
    "dialect": "what the fields mean",
    "calendar": "leap years, month ends, local days",
    "gap": "wall times that do not exist",
    "fold": "wall times that come twice",
    "flowing": "`*` in minute or hour: real time",
    "dateline": "days left out or repeated",
    "history": "permanent changes, odd rules",
    "boundaries": "edges of the window, fractions",
    "far-future": "2037 and beyond",
    "refused": "what must be refused",
}


# Zone data of other versions that was compared with that of the kit, every half hour of every window of the cases.
_COMPARED = {"ICU 2025c": "2026f"}


class OutdatedNoteError(Exception):
    """A note says something that this run does not show."""


@dataclass(frozen=True, slots=True)
class Note:
    library: str
    says: str
    case: str
    verdict: Verdict


def write_table(path: Path, kit: Kit, cards: Sequence[Scorecard]) -> None:
    parts = {
        "tzdata": kit.tzdata,
        "cases": str(len(kit.cases)),
        "fires": str(sum(case.fires is not None for case in kit.cases)),
        "refused": str(sum(case.fires is None for case in kit.cases)),
        "groups_of_cases": "\n".join(_groups_of_cases(kit)),
        "totals": "\n".join(_totals(cards)),
        "groups": "\n".join(_groups(kit, cards)),
        "notes": "\n".join(_notes(cards)),
        "details": "\n".join(line for card in cards for line in _details(kit, card)),
        "zones": "\n".join(_zones(kit, cards)),
    }
    text = _TEMPLATE.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    path.write_text(text, encoding="utf-8")


def _groups_of_cases(kit: Kit) -> Iterator[str]:
    yield "| group | cases | about |"
    yield "|---|--:|---|"
    for group in kit.groups():
        yield f"| {group} | {sum(case.group == group for case in kit.cases)} | {_GROUP_NOTES[group]} |"


def _totals(cards: Sequence[Scorecard]) -> Iterator[str]:
    yield (
        "| library | version | right | wrong | of these: another policy | refused wrongly | accepted wrongly "
        "| unsupported | crashed or hung |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    registries = {known.name: known.registry for known in KNOWN}
    for card in cards:
        counted = card.count()
        wrong = counted[Verdict.WRONG] + counted[Verdict.OTHER_POLICY]
        cells = (
            f"{card.library.name} ({registries.get(card.library.name, 'elsewhere')})",
            card.library.version,
            f"**{counted[Verdict.RIGHT]}**",
            wrong,
            counted[Verdict.OTHER_POLICY],
            counted[Verdict.REFUSED_WRONGLY],
            counted[Verdict.ACCEPTED_WRONGLY],
            counted[Verdict.UNSUPPORTED],
            counted[Verdict.CRASHED] + counted[Verdict.HUNG],
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _groups(kit: Kit, cards: Sequence[Scorecard]) -> Iterator[str]:
    yield f"| library | {' | '.join(kit.groups())} |"
    yield f"|---|{'--:|' * len(kit.groups())}"
    for card in cards:
        cells = (_share(card.count(group)) for group in kit.groups())
        yield f"| {card.library.name} | {' | '.join(cells)} |"


def _share(counted: Counter[Verdict]) -> str:
    supported = counted.total() - counted[Verdict.UNSUPPORTED]
    return f"{counted[Verdict.RIGHT]} / {supported}" if supported else "–"


def _notes(cards: Sequence[Scorecard]) -> Iterator[str]:
    notes = _load_notes()
    for card in cards:
        results = {result.case.id: result for result in card.results}
        mine = [note for note in notes if note.library == card.library.name]
        if mine:
            yield f"- **{card.library.name}**"
        for note in mine:
            result = results[note.case]
            if result.verdict != note.verdict:
                raise OutdatedNoteError(
                    f"{note.library}, {note.case}: noted as {note.verdict}, came out as {result.verdict}"
                )
            yield f"  - {note.says} {_example(result)}"


def _example(result: Result) -> str:
    case = result.case
    zone = "" if case.fires is None else f" in {case.zone}"
    policy = "" if (case.gap, case.fold) == ("next", "first") else f", gap {case.gap}, fold {case.fold}"
    found = _difference(case.fires, result.answer) or str(result.verdict)
    return f"(`{case.id}`: `{case.expression}`{zone}{policy}: {found})"


def _difference(fires: Sequence[str] | None, answer: Answer) -> str:
    if fires is None or not isinstance(answer, Fires):
        return ""
    right, given = Counter(fires), Counter(answer.instants)
    sides = {"extra": given - right, "missing": right - given}
    return "; ".join(f"{name} {_some(instants)}" for name, instants in sides.items() if instants)


def _some(instants: Counter[str], most: int = 3) -> str:
    shown = [f"{instant} ({times} times)" if times > 1 else instant for instant, times in sorted(instants.items())]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def _load_notes() -> list[Note]:
    entries = json.loads(_NOTES.read_text(encoding="utf-8"))["notes"]
    return [Note(entry["library"], entry["says"], entry["case"], Verdict(entry["verdict"])) for entry in entries]


def _details(kit: Kit, card: Scorecard) -> Iterator[str]:
    yield f"<details><summary>{card.library.name} {card.library.version}</summary>"
    yield ""
    yield f"| group | {' | '.join(Verdict)} |"
    yield f"|---|{'--:|' * len(Verdict)}"
    for group in kit.groups():
        counted = card.count(group)
        yield f"| {group} | {' | '.join(str(counted[verdict] or '') for verdict in Verdict)} |"
    yield ""
    yield "</details>"


def _zones(kit: Kit, cards: Sequence[Scorecard]) -> Iterator[str]:
    for source in dict.fromkeys(card.library.zones for card in cards):
        names = ", ".join(card.library.name for card in cards if card.library.zones == source)
        same = _COMPARED.get(source) == kit.tzdata
        yield f"- {source}: {names}" + (" (no offset differs within the windows of the cases)" if same else "")
