"""Quotas of runs per day (owners and agents) and of stored bytes (owners): while one is used up, occurrences are skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from ...errors import StoreError
from ...model.accounts.account import (
    AGENT_KIND,
    ALL_AGENTS,
    OWNER_KIND,
    Limit,
    Owner,
    agent_key,
    agent_limits,
    agent_quotas,
)
from ...model.accounts.principal import AGENT_QUOTAS
from ...model.counts import AGENT_PREFIX, Counts, hour_of, summarize_lateness
from ...model.page import MAX_PAGE_SIZE
from ...ports.full_store import FullStore
from ..accounts.owners import Accounts
from ..accounts.quota_sweep import QuotaSweep
from ..accounts.storage_limit import StorageLimit

Limits: TypeAlias = tuple[tuple[str, Limit], ...]
_ANY_LATENESS: Final = timedelta(0)
_MOST_ERRORS: Final = 3
"""After so many owners in one enforcement that could not be measured, the store is taken to be away."""


class DailyQuota:
    """`enforce` is called about once a minute, by any number of processes.

    `agents` are the default quotas of agents, where the owner has no lower ones.
    """

    def __init__(self, store: FullStore, accounts: Accounts, sweeps: QuotaSweep, storage: StorageLimit) -> None:
        self._store = store
        self._sweeps = sweeps
        self._storage = storage
        self._accounts = accounts
        self.agents = AGENT_QUOTAS

    async def enforce(self, now: datetime) -> int:
        """Block owners and agents that have reached their limit of this day (UTC) or of stored bytes, and unblock the others.

        Returns how many changed. It costs three reads, another one for each owner whose limit, or whose agents' limit, the
        total of all owners has reached, and a measurement of each owner whose stored bytes are due for one. Measurements
        come last: they may take seconds.
        """
        await self._sweeps.sweep_all()
        changed, day = 0, _Day(self._store, now)
        chosen = await self._load_agent_limits()
        async for owner in self._owners():
            changed += await self._runs_enforced(owner, day, chosen)
        return changed + await self._storage_enforced(day)

    async def _storage_enforced(self, day: _Day) -> int:
        """An owner that cannot be measured in time keeps no other from being looked at."""
        changed, errors = 0, list[StoreError]()
        async for owner in self._owners():
            try:
                changed += await self._storage_settled(owner, day) is not None
            except StoreError as error:
                errors.append(error)
                if len(errors) == _MOST_ERRORS:
                    break
        if errors:
            raise errors[0]
        return changed

    async def enforce_owner(self, name: str, now: datetime) -> int:
        """Enforce the quota of one owner whose quotas have just changed."""
        owner = await self._accounts.find(name)
        if owner is None:
            return 0
        day = _Day(self._store, now)
        changed = await self._storage_settled(owner, day, fresh=True) is not None
        # It has another version now, if that has changed it.
        owner = await self._accounts.find(name)
        return changed + (
            0 if owner is None else await self._runs_enforced(owner, day, await self._load_agent_limits())
        )

    async def _runs_enforced(self, owner: Owner, day: _Day, chosen: Mapping[str, Mapping[str, Limits]]) -> int:
        after = await self._update_owner(owner, day)
        return (after is not None) + await self._update_agents(after or owner, day, chosen.get(owner.name, {}))

    async def _storage_settled(self, owner: Owner, day: _Day, *, fresh: bool = False) -> Owner | None:
        """As it is now, where that has changed. `fresh`: its bytes are measured now."""
        limit = owner.quotas.stored_bytes
        used = 0 if limit is None else await self._storage.used(owner.name, limit, fresh=fresh)
        if limit is None or (used is not None and used < limit):
            return None if owner.storage_full is None else await self._accounts.free_storage(owner, day.now)
        if used is None or owner.storage_full is not None or owner.revoked is not None:
            return None
        return await self._accounts.fill_storage(owner, day.now, used)

    async def _update_owner(self, owner: Owner, day: _Day) -> Owner | None:
        """Return the owner after the change, or None if nothing changed."""
        most = owner.quotas.runs_per_day
        if most is not None and await day.has_reached(owner, most):
            known = owner.exhausted_on == day.date or owner.revoked is not None
            return None if known else await self._accounts.block_for_quota(owner, day.now)
        return None if owner.exhausted_on is None else await self._accounts.unblock_for_quota(owner)

    async def _update_agents(self, owner: Owner, day: _Day, chosen: Mapping[str, Limits]) -> int:
        """Block or unblock agents; `chosen` are the limits that were set for agents of this owner, by name."""
        changed = 0
        limits = {agent: self._runs_per_day(owner, chosen, agent) for agent in (ALL_AGENTS, *chosen)}
        least = min((each for each in limits.values() if each is not None), default=None)
        for agent in sorted(dict(owner.exhausted_agents).keys() | await day.agents(least)):
            most = limits.get(agent, limits[ALL_AGENTS])
            over = most is not None and await day.has_reached(owner, most, agent)
            spent = day.date if over else None
            if spent == dict(owner.exhausted_agents).get(agent):
                continue
            after = await self._accounts.set_agent_spent(owner, agent, spent)
            if after is not None:
                owner, changed = after, changed + 1
        return changed

    def _runs_per_day(self, owner: Owner, chosen: Mapping[str, Limits], agent: str) -> int | None:
        both = {**dict(chosen.get(ALL_AGENTS, ())), **dict(chosen.get(agent, ()))}
        return agent_quotas(owner.quotas, tuple(both.items()), self.agents).runs_per_day

    async def _load_agent_limits(self) -> dict[str, dict[str, Limits]]:
        """Return the limits that were set for agents, by owner and agent; most deployments have none."""
        found: dict[str, dict[str, Limits]] = {}
        after: str | None = None
        while True:
            page = await self._store.records(AGENT_KIND, None, after, MAX_PAGE_SIZE)
            for record in page.items:
                agent = record.key.removeprefix(agent_key(record.owner, ""))
                found.setdefault(record.owner, {})[agent] = agent_limits(record)
            after = page.after
            if after is None:
                return found

    async def _owners(self) -> AsyncIterator[Owner]:
        after: str | None = None
        while True:
            page = await self._store.records(OWNER_KIND, None, after, MAX_PAGE_SIZE)
            for record in page.items:
                yield self._accounts.read(record)
            after = page.after
            if after is None:
                return


class _Day:
    """Counters of runs since midnight (UTC), each read at most once."""

    def __init__(self, store: FullStore, now: datetime) -> None:
        self.now = now
        self.date = now.astimezone(UTC).date()
        self._store = store
        self._counts_by_owner: dict[str | None, Counts] = {}
        self._agent_runs: dict[str | None, Counter[str]] = {}

    async def has_reached(self, owner: Owner, most: int, agent: str | None = None) -> bool:
        """Compare with the total of all owners first, which is read once."""
        return await self._runs(None, agent) >= most and await self._runs(owner.name, agent) >= most

    async def agents(self, most: int | None) -> set[str]:
        """Return the agents that may have reached the limit: agents of that name of all owners together have."""
        if most is None:
            return set()
        return {agent for agent, number in (await self._runs_of_agents(None)).items() if number >= most}

    async def _runs(self, owner: str | None, agent: str | None) -> int:
        if agent is None:
            return summarize_lateness(await self._counts(owner), _ANY_LATENESS).total
        return (await self._runs_of_agents(owner))[agent]

    async def _runs_of_agents(self, owner: str | None) -> Counter[str]:
        """Summed up once per owner, because there may be hundreds of agents and owners."""
        if owner not in self._agent_runs:
            found: Counter[str] = Counter()
            for (_, name), number in (await self._counts(owner)).items():
                if name.startswith(AGENT_PREFIX):
                    found[name.removeprefix(AGENT_PREFIX)] += number
            self._agent_runs[owner] = found
        return self._agent_runs[owner]

    async def _counts(self, owner: str | None) -> Counts:
        if owner not in self._counts_by_owner:
            hour = hour_of(self.now)
            self._counts_by_owner[owner] = await self._store.counts(owner, range(hour - hour % 24, hour + 1))
        return self._counts_by_owner[owner]
