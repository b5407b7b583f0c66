"""All registered groups, read page by page: for the main group, the watcher and the snapshots."""

from __future__ import annotations

from typing import Final

from ...clock import Clock
from ...model.accounts.principal import LOCAL
from ...model.agents.group import Group
from ...model.page import MAX_PAGE_SIZE
from ...service.service import Service

_AGE_SECONDS: Final = 5.0
"""Other processes register groups, too."""


async def list_groups(service: Service) -> tuple[Group, ...]:
    """Return all groups by folder."""
    groups: list[Group] = []
    after: str | None = None
    while True:
        page = await service.groups.page(LOCAL, after, MAX_PAGE_SIZE)
        groups += page.items
        after = page.after
        if after is None:
            return tuple(groups)


class GroupList:
    """The groups as they were read last, for loops that look every second. Rights are checked with groups that are read fresh."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock
        self._groups: tuple[Group, ...] = ()
        self._read: float | None = None

    async def get(self) -> tuple[Group, ...]:
        now = self._clock.steady()
        if self._read is None or now - self._read >= _AGE_SECONDS:
            self._groups = await list_groups(self._service)
            self._read = now
        return self._groups

    def invalidate(self) -> None:
        """Read the groups again the next time; called after a change of this process."""
        self._read = None
