"""Who is asking, what they may do, and how much of it."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from ..refusals import refuse


class Scope(StrEnum):
    """What a token lets its bearer do; an admin's business is nobody else's."""

    READ = "tasks:read"
    WRITE = "tasks:write"
    RUN = "tasks:run"
    ADMIN = "admin"


class Role(StrEnum):
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


SCOPES_OF: Final[dict[Role, frozenset[Scope]]] = {
    Role.ADMIN: frozenset(Scope),
    Role.MEMBER: frozenset({Scope.READ, Scope.WRITE, Scope.RUN}),
    Role.VIEWER: frozenset({Scope.READ}),
}
"""The most that a token of such an owner can have."""


class Quotas(NamedTuple):
    """How much of everything an owner may have; None is without a limit."""

    shortest_interval: timedelta | None = None
    active_tasks: int | None = None
    payload_bytes: int | None = None
    runs_per_day: int | None = None
    concurrent_runs: int | None = None
    longest_life: timedelta | None = None
    """What has no end of its own within so long is refused. Without a limit unless an admin sets one."""
    stored_tasks: int | None = None
    """Tasks in any state: paused and finished ones count."""
    stored_bytes: int | None = None
    """The definitions of all these tasks, and the results, errors and logs of their runs, together."""
    tokens: int | None = None
    """Tokens that are neither revoked nor expired."""
    requests_per_minute: int | None = None
    """Over HTTP, of all tokens of an owner together."""
    event_streams: int | None = None
    """Streams of events that are open at the same time in one process."""
    idempotency_keys: int | None = None
    """Requests with an `Idempotency-Key` on one day (UTC): each is kept for a day."""


NO_QUOTAS: Final = Quotas()
MEMBER_QUOTAS: Final = Quotas(
    timedelta(seconds=10),
    20,
    64 * 1024,
    10_000,
    10,
    stored_tasks=10_000,
    stored_bytes=1024 * 1024 * 1024,
    tokens=50,
    requests_per_minute=600,
    event_streams=20,
    idempotency_keys=10_000,
)
AGENT_QUOTAS: Final = Quotas(timedelta(minutes=5), 10, 16 * 1024, 500, 2)
"""An agent's task may go on without an end: whatever reaches out waits for a person, and a prompt to itself is harmless
within the interval and the number of tasks."""


class Principal(NamedTuple):
    """`actor` is who answers for what is done here: the id of a token, or `local`; empty for what a program does by itself,
    which leaves no audit rows. `via` is the front end, `request` the id of one request. `zone` and `quotas` are the owner's.

    An agent is a guest of its owner: it sees and touches only the tasks that it made itself.
    """

    owner: str
    admin: bool = False
    scopes: frozenset[Scope] = frozenset(Scope)
    actor: str = ""
    via: str = ""
    agent: str | None = None
    zone: str | None = None
    quotas: Quotas = NO_QUOTAS
    request: str = ""
    role: Role | None = None
    """The role of the owner, for whoever comes with a token."""

    @property
    def scope(self) -> str | None:
        """Whose things are visible: one owner's, or (None) everybody's."""
        return None if self.admin and self.agent is None else self.owner

    def must(self, scope: Scope) -> None:
        """Refuses whoever lacks this right."""
        if scope not in self.scopes or (scope is Scope.ADMIN and self.scope is not None):
            english, chinese = _remedy(self, scope)
            raise refuse("not_allowed", scope=scope.value, remedy=english, remedy_zh=chinese)


def _remedy(who: Principal, scope: Scope) -> tuple[str, str]:
    """What helps whoever lacks a scope: another token only where the role of its owner may have that scope."""
    if who.role is None or scope in SCOPES_OF[who.role]:
        english, chinese = _OTHER_TOKEN
    else:
        english, chinese = _ADMINS_ONLY if scope is Scope.ADMIN else _OTHER_ROLE
    facts = {"owner": who.owner, "role": who.role, "scope": scope.value}
    return english.format(**facts), chinese.format(**facts)


_OTHER_TOKEN: Final = (
    "An admin makes a token with that scope: horae token make NAME --owner {owner} --scope {scope}",
    "管理员可创建具有该权限的令牌：horae token make 名称 --owner {owner} --scope {scope}",
)
_ADMINS_ONLY: Final = (
    "'{owner}' is a {role}: no token of it can have that scope. Ask an admin to do it for you.",
    "“{owner}”的角色是 {role}，其令牌不能有该权限。请联系管理员代为操作。",
)
_OTHER_ROLE: Final = (
    "'{owner}' is a {role}: no token of it can have that scope. An admin changes the role: horae owner set {owner} --role member",
    "“{owner}”的角色是 {role}，其令牌不能有该权限。管理员可更改角色：horae owner set {owner} --role member",
)


LOCAL_OWNER: Final = "local"
LOCAL: Final = Principal(LOCAL_OWNER, admin=True)
"""Whoever can open the file, or holds the object in their own process."""

AGENT_LABEL: Final = "horae/agent"
"""Which agent made a task; stamped by the service, and like every label that begins so, nobody else's to write."""
VIA_LABEL: Final = "horae/via"
TOKEN_LABEL: Final = "horae/token"  # noqa: S105 - the name of a label
RESERVED_LABELS: Final = "horae/"
