"""Principals of requests: an agent acts as the owner of its group; the agent of a main group as the owner of the named one."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...choices import Language
from ...model.accounts.account import agent_of
from ...model.accounts.principal import SCOPES_OF, Principal, Role
from ...model.agents.group import Group
from ...model.agents.lineage import AGENT_VIA
from ...model.task import Task
from ...service.service import Service

DEFAULT_ZONE: Final = "UTC"


class GroupAccount(NamedTuple):
    """Owner of a group with its zone, language and quotas, as the agent of the group `actor` uses it."""

    actor: Group
    group: Group
    person: Principal
    """Principal for tasks that people made for the group."""
    agent: Principal
    """Principal for tasks that an agent made or makes."""

    @property
    def zone(self) -> str:
        return self.person.zone or DEFAULT_ZONE

    @property
    def language(self) -> Language | None:
        return self.person.language

    def for_task(self, task: Task) -> Principal:
        """Return the principal that controls a task: under the rules of the agent that made it, if one did."""
        made_by = agent_of(task)
        return self.person if made_by is None else self.agent._replace(agent=made_by)

    def for_edit(self, task: Task) -> Principal:
        """Return the principal that edits a task: the limits of agents apply, also to the task of a person."""
        return self.agent._replace(agent=agent_of(task))


async def open_account(service: Service, actor: Group, group: Group, request: str = "") -> GroupAccount:
    """Return the account of a group for a request of the agent of `actor`. Nothing of it comes from the request's content."""
    owner = await service.accounts.find(group.owner)
    person = Principal(
        group.owner,
        scopes=SCOPES_OF[Role.MEMBER],
        actor=f"agent:{actor.folder}",
        via=AGENT_VIA,
        zone=group.zone or (None if owner is None else owner.zone) or service.zone or DEFAULT_ZONE,
        request=request,
        role=Role.MEMBER,
        language=None if owner is None else owner.language,
    )
    if owner is not None:
        person = person._replace(quotas=owner.quotas)
    quotas = await service.agents.quotas(group.owner, actor.folder, person.quotas)
    return GroupAccount(actor, group, person, person._replace(agent=actor.folder, quotas=quotas))


def operator_of(actor: Group, request: str = "") -> Principal:
    """Return the principal with which the agent of a main group registers groups."""
    return Principal(actor.owner, admin=True, actor=f"agent:{actor.folder}", via=AGENT_VIA, request=request)
