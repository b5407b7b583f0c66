"""Three tasks with a history, written by the store: the templates of a generated database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from bench.lists.filling import LARGE_OWNER
from horae.lifecycle.control import control
from horae.lifecycle.fire import fire
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.ids import make_id
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.policy import DEFAULT_POLICIES
from horae.model.task import Target
from horae.ports.store import DEFAULT_TERMS, Node
from horae.schedule import Every
from horae.stores.postgres import PostgresStore

ACTIVE, PAUSED, FAILED = MODELS = 1, 2, 3
"""Their numbers: they are the first tasks of an empty database."""
DAY: Final = timedelta(days=1)
_LATE: Final = timedelta(milliseconds=2)
_TOOK: Final = timedelta(milliseconds=200)
_TARGET: Final = Target("http", '{"method":"POST","url":"https://api.example.com/jobs","redirects":0}')
_PAYLOAD: Final = (
    '{"customer":"c-000000","report":"daily","format":"pdf","recipients":["a@example.com","b@example.com"]}'
)
_WENT_WELL: Final = Succeeded('{"rows":7,"took":"0.2 s"}')
_WENT_WRONG: Final = Failed("api.example.com answered 503 Service Unavailable: try again later", permanent=True)


async def write_models(store: PostgresStore, created: datetime) -> None:
    """Made at that instant; each has run once, a day later, and all but the one that failed are planned for the next."""
    names = {number: make_id("tsk", created, number.to_bytes(10)) for number in MODELS}
    await store.add([plan(_draft(number), name, created) for number, name in names.items()])
    first = created + DAY
    await _run_once(store, first, {names[FAILED]: _WENT_WRONG})
    await store.change(names[PAUSED], None, partial(control.pause, now=first + timedelta(hours=1)))


def _draft(number: int) -> Draft:
    policies = replace(DEFAULT_POLICIES, give_up_after=1) if number == FAILED else DEFAULT_POLICIES
    labels = {"source": "api", "team": "0"}
    return Draft(LARGE_OWNER, f"model {number}", Every(DAY), _TARGET, _PAYLOAD, policies, labels=labels)


async def _run_once(store: PostgresStore, due: datetime, outcomes: Mapping[str, Outcome]) -> None:
    now = due + _LATE
    node = make_id("nod", due, b"\1" * 10)
    await store.join(Node(node, "bench", "0", now, now))
    claim = await store.claim_due(
        now, node, len(MODELS), partial(fire, claim=ClaimContext(node, now, DEFAULT_TERMS.poll_ceiling))
    )
    reports = [
        Settlement(run.id, run.token, outcomes.get(run.task_id, _WENT_WELL), now, now + _TOOK) for _, run in claim.runs
    ]
    assert len(reports) == len(MODELS)
    assert not await store.settle(reports, settle)
    await store.leave(node)
