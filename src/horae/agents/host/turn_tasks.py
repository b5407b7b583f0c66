"""System task of each group whose runs are the turns of its agent. It never fires by itself: the router asks for its runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from ...errors import Conflict, NotFound
from ...model.accounts.system_owner import system_owner
from ...model.agents.agent_task import AGENT_KIND, AGENTS_LANE, group_lane
from ...model.agents.group import Group
from ...model.change import Facts
from ...model.entry import CONTROL_KINDS, NEXT_SLOT
from ...model.lanes.node_labels import NODE_LABEL
from ...model.policy import RetryPolicy
from ...model.record import RecordWrite
from ...model.run import Run, RunState
from ...model.task import Target
from ...ports.store import RunFilter
from ...schedule import Once
from ...service.service import Service
from ...service.tasks.task_request import NEVER, Options, TaskRequest
from ...service.tasks.tasks import system_principal

TURN_KEY: Final = "turn"
TURN_PRIORITY: Final = -10
"""Lower than that of tasks."""
RETRY: Final = RetryPolicy(
    attempts=6,
    backoff=timedelta(seconds=5),
    factor=2.0,
    max=timedelta(seconds=80),
    jitter="none",
    superseded_by_next=False,
)
"""After 5, 10, 20, 40 and 80 s."""
_NEVER_DUE: Final = Once(at=datetime(9990, 1, 1, tzinfo=UTC))
_TIMEOUT_MARGIN: Final = timedelta(minutes=1)
"""The target stops a silent agent by itself, before the engine does."""
_FAILED: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})


class TurnState(NamedTuple):
    """State of the turns of a group. `last` is the newest run that has ended, while none goes on. `task` is the id of its
    system task; None before its first turn."""

    is_going_on: bool = False
    last: Run | None = None
    task: str | None = None

    @property
    def has_failed(self) -> bool:
        return self.last is not None and self.last.state in _FAILED

    @property
    def is_success(self) -> bool:
        return self.last is not None and self.last.state is RunState.SUCCEEDED

    @property
    def began(self) -> datetime | None:
        """When the last run read the messages."""
        run = self.last
        return None if run is None else run.started or run.claimed or run.ended or run.planned


def turn_request(group: Group) -> TaskRequest:
    """Return the request of the group's system task."""
    spec = {"group": group.folder, "messages": True}
    limits = group.limits
    lanes = (group_lane(group.folder), AGENTS_LANE)
    options = Options(
        overlap="skip",
        retry=RETRY,
        give_up_after=NEVER,
        timeout=max(limits.timeout, limits.idle + timedelta(seconds=30)) + _TIMEOUT_MARGIN,
        priority=TURN_PRIORITY,
        notify_after=NEVER,
        where={} if group.node is None else {NODE_LABEL: group.node},
        lanes=lanes[1:],
    )
    return TaskRequest(
        f"messages of {group.folder}",
        _NEVER_DUE,
        Target(AGENT_KIND, json.dumps(spec)),
        key=TURN_KEY,
        lane=lanes[0],
        options=options,
        granted_lanes=lanes,
    )


class TurnTasks:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._declared: dict[str, Group] = {}

    async def state(self, group: Group) -> TurnState:
        """Return whether a turn of the group runs, waits or will be tried again, and how the last one ended."""
        facts = await self._service.store.find(system_owner(group.owner), TURN_KEY)
        if facts is None:
            return TurnState()
        if facts.live or _is_waiting(facts):
            return TurnState(is_going_on=True, task=facts.task.id)
        page = await self._service.store.runs(RunFilter(task_id=facts.task.id), limit=8)
        newest = max(page.items, key=lambda run: (run.planned, run.attempt), default=None)
        return TurnState(last=newest, task=facts.task.id)

    async def ask(self, group: Group, task: str | None = None, written: RecordWrite | None = None) -> bool:
        """Ask for a turn of this system task (None: not known); False if one runs or waits already.

        `written` is a record that commits with it.
        """
        principal = system_principal(group.owner)
        if task is None or self._declared.get(group.folder) != group:
            task = (await self._service.system_tasks.declare(group.owner, turn_request(group))).id
            self._declared[group.folder] = group
        tasks = self._service.tasks
        if written is not None:
            tasks = tasks.with_attached(lambda _facts, _change: (written,))
        try:
            await tasks.run_now(principal, task)
        except Conflict as conflict:
            if conflict.code in ("already_running", "retry_waiting", "run_requested"):
                return False
            raise
        except NotFound:
            # It was deleted since: it is declared again.
            del self._declared[group.folder]
            return await self.ask(group, None, written)
        return True


def _is_waiting(facts: Facts) -> bool:
    return any(each.slot != NEXT_SLOT and each.kind not in CONTROL_KINDS for each in facts.entries)
