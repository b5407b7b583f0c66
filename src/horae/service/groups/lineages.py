"""Lineage of the requests of a group's agent: the live run of the group, as the store knows it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.system_owner import system_owner
from ...model.agents.agent_task import AGENT_KIND
from ...model.agents.group import Group
from ...model.agents.lineage import Lineage, depth_of
from ...model.run import Run
from ...model.task import Task
from ...ports.full_store import FullStore
from ...ports.store import RunFilter

_GRACE: Final = timedelta(seconds=5)
"""A request that an agent wrote just before its end is read after it: the run counts for so long."""
_MAX_RUNS: Final = 20


class _AgentRun(NamedTuple):
    run: Run
    task: Task
    is_turn: bool


class Lineages:
    def __init__(self, store: FullStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def find(self, group: Group, written: datetime | None = None) -> Lineage:
        """Return the lineage of a request that the agent of a group wrote at an instant: that of its live run.

        Of several that come into question the deepest counts: an agent gains nothing by a request that outlives its run.
        A run that had ended before the request was written does not come into question: otherwise a prompt that has just
        ended would count for what a person asks the agent next.
        """
        runs = await self._load_runs(group, written)
        if not runs:
            return Lineage()
        live = next((each for each in runs if each.run.live), runs[0])
        depth = max(depth_of(each.task.labels) for each in runs)
        return Lineage(live.run.id, depth, await self._last_message(group) if live.is_turn else None)

    async def _load_runs(self, group: Group, written: datetime | None) -> list[_AgentRun]:
        """Return the runs of the group's agent that are live or have just ended, newest first."""
        found, since = [], self._clock.now() - _GRACE
        if written is not None:
            since = max(since, written)
        for owner in (group.owner, system_owner(group.owner)):
            for run in (await self._store.runs(RunFilter(owner), limit=_MAX_RUNS)).items:
                is_recent = run.started is not None and run.ended is not None and run.ended >= since
                facts = await self._store.facts(run.task_id, None) if run.live or is_recent else None
                if facts is None or facts.task.target.kind != AGENT_KIND:
                    continue
                spec = json.loads(facts.task.target.spec)
                if spec.get("group") == group.folder:
                    found.append(_AgentRun(run, facts.task, bool(spec.get("messages"))))
        return found

    async def _last_message(self, group: Group) -> int | None:
        state = await self._store.stream(group.owner, group.stream)
        return None if state is None or not state.stream.last else state.stream.last
