"""The command line of the scorer."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from conformance.scoring.adapter import AdapterUnavailableError
from conformance.scoring.cases import Case, Kit, load_kit
from conformance.scoring.known import KNOWN
from conformance.scoring.scorecard import Scorecard, as_json, as_text, failure_as_text, score
from conformance.scoring.table import OutdatedNoteError, write_table

NOT_AVAILABLE = 2


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    commands = [shlex.split(command) for command in given.adapter]
    if given.all or given.table:
        commands.extend(known.command for known in KNOWN)
    if not commands:
        parser.error("name an adapter with --adapter, or take all known ones with --all")
    kit = load_kit()
    cards: list[Scorecard] = []
    missing = 0
    for outcome in _scores(commands, kit, given):
        if isinstance(outcome, Scorecard):
            cards.append(outcome)
            if not given.json:
                _show(outcome, given.failures)
        else:
            missing += 1
            print(outcome, file=sys.stderr)
    if given.json:
        print(json.dumps([as_json(card) for card in cards], indent=2))
    if given.table and missing:
        print("a table without all known libraries would mislead: nothing was written", file=sys.stderr)
        return NOT_AVAILABLE
    if given.table:
        return _write(Path(given.table), kit, cards)
    return NOT_AVAILABLE if missing and not given.all else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="score.py", description="Scores cron libraries on the conformance cases.")
    parser.add_argument(
        "--adapter",
        action="append",
        default=[],
        metavar="COMMAND",
        help="an adapter to score; may be given more than once",
    )
    parser.add_argument("--all", action="store_true", help="score every known adapter whose library is installed")
    parser.add_argument(
        "--tag", action="append", default=[], help="only cases with this tag; may be given more than once"
    )
    parser.add_argument("--limit", type=float, default=8.0, metavar="SECONDS", help="time for one case (default 8)")
    parser.add_argument(
        "--failures", type=int, default=0, metavar="N", help="show the first N failures of each library"
    )
    parser.add_argument("--json", action="store_true", help="results as JSON")
    parser.add_argument(
        "--table", metavar="FILE", help="score all known adapters and write the table of docs/conformance.md"
    )
    return parser


def _scores(commands: list[list[str]], kit: Kit, given: argparse.Namespace) -> Iterator[Scorecard | str]:
    def wanted(case: Case) -> bool:
        return not given.tag or bool(set(given.tag) & set(case.tags))

    for command in commands:
        try:
            yield score(command, kit, given.limit, wanted)
        except AdapterUnavailableError as error:
            yield f"{shlex.join(command)}: not available: {error}"


def _show(card: Scorecard, most: int) -> None:
    print(as_text(card))
    for failure in card.failures()[:most]:
        print(f"  {failure_as_text(failure)}")
    print(flush=True)


def _write(path: Path, kit: Kit, cards: list[Scorecard]) -> int:
    try:
        write_table(path, kit, cards)
    except OutdatedNoteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {path}")
    return 0
