"""Ballot: the votes of one occurrence, with all participants from the beginning; each votes once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..plans.codes import Status
from ..record import Record

BALLOT_KIND: Final = "station.ballot"


class Vote(NamedTuple):
    status: int
    content: Any = None
    """JSON value, or a text."""
    frames: list[list[str]] | None = None
    """Type and text of each content frame, where the content does not tell them."""

    def as_json(self) -> dict[str, Any]:
        told = {"status": self.status, "content": self.content}
        return told if self.frames is None else {**told, "frames": self.frames}


class Ballot(NamedTuple):
    owner: str
    key: str
    """Idempotency key of the occurrence."""
    task_id: str
    votes: tuple[tuple[str, Vote | None], ...]
    """By name of the voter; None: no answer yet."""
    version: int = 0
    """0: not stored yet."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Voters without an answer: only they are called again."""
        return tuple(name for name, vote in self.votes if vote is None)

    @property
    def status(self) -> int:
        """The worst status of all votes: an error of one voter is that of the whole."""
        return max((vote.status for _, vote in self.votes if vote is not None), default=Status.OK)

    def cast(self, voter: str, vote: Vote) -> Ballot | None:
        """Return the ballot with one more vote; None for a stranger, and for a voter who has voted."""
        if voter not in self.missing:
            return None
        return self._replace(votes=tuple((name, vote if name == voter else old) for name, old in self.votes))

    def reopen(self) -> Ballot:
        """Return the ballot for another attempt: votes that are errors of the call are asked for again."""
        return self._replace(
            votes=tuple(
                (name, None if vote is not None and vote.status >= Status.ERROR else vote) for name, vote in self.votes
            )
        )

    def result(self) -> dict[str, Any]:
        """Return the result of the run: the vote of each participant."""
        return {name: None if vote is None else vote.as_json() for name, vote in self.votes}


def open_ballot(owner: str, key: str, task_id: str, voters: Iterable[str]) -> Ballot:
    return Ballot(owner, key, task_id, tuple((name, None) for name in sorted(set(voters))))


def ballot_record(ballot: Ballot, expires: datetime) -> Record:
    votes = {name: None if vote is None else _stored(vote) for name, vote in ballot.votes}
    body = {"task": ballot.task_id, "votes": votes}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Record(BALLOT_KIND, ballot.key, ballot.owner, text, max(1, ballot.version), expires)


def _stored(vote: Vote) -> list[Any]:
    return [vote.status, vote.content] if vote.frames is None else list(vote)


def ballot_from(record: Record) -> Ballot:
    body = json.loads(record.body)
    votes = tuple((name, None if vote is None else Vote(*vote)) for name, vote in body["votes"].items())
    return Ballot(record.owner, record.key, body["task"], votes, record.version)
