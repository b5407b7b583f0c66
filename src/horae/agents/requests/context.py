"""Context of one request: the acting group, its account, and the fields of the document."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from ...model.agents.group import Group
from ...model.refusals import refuse as refuse_field
from ...service.service import Service
from ...wire.fields import check_fields
from .inbox import Request
from .principals import GroupAccount, open_account
from .refusals import refuse
from .request_records import RequestRecord

_IDENTITY_FIELDS: Final = ("type", "groupFolder", "isMain", "createdBy", "timestamp")
"""Fields that agents of NanoClaw write about themselves. They have no effect: the directory is the identity."""


class RequestContext(NamedTuple):
    request: Request
    kind: str
    document: Mapping[str, Any]
    account: GroupAccount
    """Account of the acting group."""
    record: RequestRecord
    service: Service

    @property
    def actor(self) -> Group:
        return self.account.actor

    def fields(self, *allowed: str) -> Mapping[str, Any]:
        """Return the fields without nulls; refuses a name that this type of request does not have."""
        fields = check_fields("request", self.document, (*allowed, *_IDENTITY_FIELDS))
        return {name: value for name, value in fields.items() if value is not None}

    def require_main(self) -> None:
        if not self.actor.is_main:
            raise refuse("request_of_main_only", type=self.kind)

    async def account_of(self, group: Group) -> GroupAccount:
        """Return the account of the group that the request is about."""
        if group.folder == self.actor.folder:
            return self.account
        await check_running(self.service, group)
        return await open_account(self.service, self.actor, group, self.request.name)

    async def group_of_chat(self, chat: str | None) -> Group | None:
        """Return the group of a chat; the own one without a chat. None: the chat has no group, and the actor is main.

        For other agents an unknown chat answers like that of another group.
        """
        if chat is None or chat == self.actor.chat:
            return self.actor
        if not self.actor.is_main:
            raise refuse("request_foreign_chat", chat=chat)
        return await self.service.groups.find_by_chat(chat)


async def check_running(service: Service, group: Group) -> None:
    """Refuse to act for a group whose agent was stopped, by itself or with all others."""
    if await service.agent_stop.check(group) is not None:
        raise refuse("request_group_stopped", folder=group.folder)


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """Return a text that must be there and may not be blank."""
    value = optional_text(fields, name)
    if value is None:
        raise refuse_field("missing_field", name=name)
    if not value.strip():
        raise refuse_field("bad_policy", name=name, value=value, wanted="non-blank text")
    return value


def optional_text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise refuse_field("bad_policy", name=name, value=value, wanted="text")
    return value


def choice_of(fields: Mapping[str, Any], name: str, allowed: Collection[str]) -> str | None:
    value = fields.get(name)
    if value is not None and value not in allowed:
        raise refuse_field("bad_choice", name=name, value=value, allowed=", ".join(allowed))
    return value
