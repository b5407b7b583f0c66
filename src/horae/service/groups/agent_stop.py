"""Stop of agents: of one group or of all at once. Live agents end, nothing new starts, and a restart continues their tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.account import agent_of
from ...model.accounts.principal import AGENT_LABEL, Principal, Scope
from ...model.accounts.system_owner import EVERY_OWNER, EVERY_SYSTEM_OWNER, account_of, system_owner
from ...model.agents.agent_task import AGENT_KIND
from ...model.agents.group import GROUP_KIND, Group, folder_of_owner, group_from
from ...model.change import Facts
from ...model.outcome import Skipped
from ...model.page import MAX_PAGE_SIZE
from ...model.pauses import AGENT_STOPPED_NOTE, ALL_STOPPED_NOTE, GROUP_STOPPED_NOTE
from ...model.reason import Reason, describe_reason
from ...model.record import RecordWrite
from ...model.run import LIVE_STATES
from ...model.task import OPEN_STATES, PauseCause
from ...ports.full_store import FullStore
from ...ports.records import Records
from ...ports.store import RunFilter, TaskFilter
from ..accounts.agent_switch import Switch, load_switch, switch_record
from ..accounts.agents import list_agents
from ..accounts.audit import Audit
from ..accounts.refusals import refuse as refuse_agents
from ..accounts.rights import refuse_agent
from ..accounts.stopped_tasks import StoppedTasks
from ..runs.runs import Runs
from ..tasks.task_quota import QUOTA_KIND, agent_record_key
from .refusals import refuse

_STOP_ALL: Final = "agent.stop_all"
_RESTART_ALL: Final = "agent.restart_all"


async def find_stop(records: Records, group: Group) -> Refusal | None:
    """Return why the agent of a group may not run although the group itself is not stopped; None if it may."""
    if await load_switch(records) is not None:
        return refuse_agents("agents_stopped")
    record = await records.get_record(QUOTA_KIND, agent_record_key(group.owner, group.folder))
    if record is not None and json.loads(record.body).get("stopped"):
        return refuse("group_agent_stopped", folder=group.folder)
    return None


class AgentStop:
    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        *,
        runs: Runs,
        tasks: StoppedTasks,
        audit: Audit,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._runs = runs
        self._tasks = tasks
        self._audit = audit
        self._on_write = on_write

    # --- all agents --------------------------------------------------------------------------------------------------

    async def get(self, principal: Principal) -> Switch | None:
        """Return since when all agents are stopped; None: they are not."""
        principal.require_scope(Scope.READ)
        return await load_switch(self._store)

    async def stop_all(self, principal: Principal) -> int:
        """Stop all agents of all owners: their live runs end, their tasks are paused; return how many tasks."""
        _check_admin(principal)
        # First the record: a run that starts from now on finds it, and all earlier ones are found below.
        if await load_switch(self._store) is None:
            switch = Switch(self._clock.now(), principal.owner)
            row = self._audit.row(principal, _STOP_ALL, "*")
            await self._store.write_records([RecordWrite(switch_record(switch)), *row])
        await self._cancel_runs(principal, None, _is_of_agent)
        changed = 0
        for each in await self._filters():
            changed += await self._tasks.pause(principal, each, _STOP_ALL, ALL_STOPPED_NOTE)
        self._on_write(None)
        return changed

    async def restart_all(self, principal: Principal) -> int:
        """Let all agents go on, and resume the tasks that were paused with them; return how many.

        Agents and groups that were stopped by themselves stay stopped.
        """
        _check_admin(principal)
        switch = await load_switch(self._store)
        if switch is not None:
            row = self._audit.row(principal, _RESTART_ALL, "*")
            await self._store.write_records([RecordWrite(switch_record(switch), switch.version, dropped=True), *row])
        stopped = await self._stopped_agents()
        paused = TaskFilter(EVERY_OWNER, pause_cause=PauseCause.AGENT_STOPPED)
        changed = await self._tasks.resume(principal, paused, _RESTART_ALL, lambda facts: _note_of(facts, stopped))
        self._on_write(None)
        return changed

    # --- one agent or group ------------------------------------------------------------------------------------------

    async def end_runs(self, principal: Principal, owner: str, agent: str) -> int:
        """End the live runs of an agent that was stopped; return how many."""
        folder = folder_of_owner(owner)

        def is_of_agent(facts: Facts) -> bool:
            is_prompt = folder == agent and facts.task.target.kind == AGENT_KIND
            return is_prompt or agent_of(facts.task) == agent

        return await self._cancel_runs(principal, owner, is_of_agent)

    async def apply_group(self, principal: Principal, group: Group) -> int:
        """Pause or resume the tasks of a group that was stopped or started, and end its live runs; return how many tasks."""
        own = TaskFilter(group.owner, OPEN_STATES, kind=AGENT_KIND)
        if group.is_stopped:
            changed = await self._tasks.pause(principal, own, "group.change", GROUP_STOPPED_NOTE)
            await self.end_runs(principal, group.owner, group.folder)
        else:
            stopped = await self._stopped_agents()
            note = ALL_STOPPED_NOTE if await load_switch(self._store) is not None else None
            changed = await self._tasks.resume(
                principal, own, "group.change", lambda facts: note or _note_of(facts, stopped)
            )
        self._on_write(None)
        return changed

    async def check(self, group: Group) -> Skipped | None:
        """Return the outcome of a run of a group that may not start now, without a check of rights: for target and router."""
        if group.is_stopped or await find_stop(self._store, group) is not None:
            return Skipped(describe_reason(Reason.AGENT_STOPPED), Reason.AGENT_STOPPED)
        return None

    # --- parts -------------------------------------------------------------------------------------------------------

    async def _stopped_agents(self) -> dict[str, frozenset[str]]:
        """Return the agents that were stopped by themselves, by owner; of a stopped group its folder."""
        stopped: dict[str, set[str]] = {}
        after: str | None = None
        while True:
            page = await self._store.records(QUOTA_KIND, None, after, MAX_PAGE_SIZE)
            for record in page.items:
                owner, separator, agent = record.key.partition("/")
                if separator and json.loads(record.body).get("stopped"):
                    stopped.setdefault(owner, set()).add(agent)
            after = page.after
            if after is None:
                break
        while True:
            groups = await self._store.records(GROUP_KIND, None, after, MAX_PAGE_SIZE)
            for group in map(group_from, groups.items):
                if group.is_stopped:
                    stopped.setdefault(group.owner, set()).add(_GROUP)
            after = groups.after
            if after is None:
                return {owner: frozenset(agents) for owner, agents in stopped.items()}

    async def _filters(self) -> list[TaskFilter]:
        """Return filters that match all tasks of agents: prompts, and all tasks that an agent has made."""
        filters = [TaskFilter(EVERY_OWNER, OPEN_STATES, kind=AGENT_KIND)]
        after: str | None = None
        while True:
            page = await list_agents(self._store, None, after, MAX_PAGE_SIZE)
            filters += [TaskFilter(each.owner, OPEN_STATES, labels=((AGENT_LABEL, each.agent),)) for each in page.items]
            after = page.after
            if after is None:
                return filters

    async def _cancel_runs(self, principal: Principal, owner: str | None, matches: Callable[[Facts], bool]) -> int:
        """Cancel live runs of an owner (None: of all) whose tasks match, those of its system tasks included."""
        scopes = (EVERY_OWNER, EVERY_SYSTEM_OWNER) if owner is None else (owner, system_owner(owner))
        cancelled = 0
        for scope in scopes:
            after: str | None = None
            while True:
                page = await self._store.runs(RunFilter(scope, states=LIVE_STATES), after, MAX_PAGE_SIZE)
                for run in page.items:
                    facts = await self._store.facts(run.task_id, None)
                    if facts is not None and matches(facts):
                        cancelled += await self._cancel(principal, run.id)
                after = page.after
                if after is None:
                    break
        return cancelled

    async def _cancel(self, principal: Principal, run_id: str) -> bool:
        try:
            await self._runs.cancel(principal, run_id)
        except Refusal:  # it has ended meanwhile
            return False
        return True


_GROUP: Final = ""
"""In the set of stopped agents of an owner: the group itself is stopped."""


def _is_of_agent(facts: Facts) -> bool:
    return facts.task.target.kind == AGENT_KIND or agent_of(facts.task) is not None


def _note_of(facts: Facts, stopped: dict[str, frozenset[str]]) -> str | None:
    """Return why a task stays paused although all agents go on; None: it goes on."""
    task = facts.task
    agents = stopped.get(account_of(task.owner), frozenset())
    folder = folder_of_owner(account_of(task.owner))
    if task.target.kind == AGENT_KIND and _GROUP in agents:
        return GROUP_STOPPED_NOTE
    is_of_group = task.target.kind == AGENT_KIND and folder in agents
    return AGENT_STOPPED_NOTE if is_of_group or agent_of(task) in agents else None


def _check_admin(principal: Principal) -> None:
    refuse_agent(principal, "agents")
    principal.require_scope(Scope.ADMIN)
