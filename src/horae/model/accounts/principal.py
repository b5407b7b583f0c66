"""Principal: the authenticated caller with its role, scopes and quotas."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from ...choices import Language
from ..agents.lineage import Lineage
from ..refusals import refuse
from .system_owner import EVERY_OWNER, EVERY_SYSTEM_OWNER, system_owner


class Scope(StrEnum):
    """Rights of a token; `admin` is only effective for admins."""

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
"""Scopes that a token of an owner with this role can have at most."""


class Quotas(NamedTuple):
    """Limits of an owner or agent; None: unlimited."""

    shortest_interval: timedelta | None = None
    active_tasks: int | None = None
    payload_bytes: int | None = None
    runs_per_day: int | None = None
    concurrent_runs: int | None = None
    longest_life: timedelta | None = None
    """A task whose schedule does not end within this time is refused. Unlimited unless an admin sets it."""
    stored_tasks: int | None = None
    """Tasks in any state: paused and finished ones count."""
    stored_bytes: int | None = None
    """Total size of the definitions of these tasks, and of the results, errors and logs of their runs."""
    tokens: int | None = None
    """Tokens that are neither revoked nor expired."""
    requests_per_minute: int | None = None
    """HTTP requests of all tokens of an owner together; of a group, also the requests that its agent writes as files."""
    event_streams: int | None = None
    """Event streams that are open at the same time in one process."""
    idempotency_keys: int | None = None
    """Requests with an `Idempotency-Key` per day (UTC); each key is stored for a day."""
    message_bytes: int | None = None
    """Size of the text of one message."""
    message_streams: int | None = None
    stream_messages: int | None = None
    """Messages that one stream stores."""
    stream_readers: int | None = None
    stored_message_bytes: int | None = None
    """Total size of the messages of all streams."""
    lanes: int | None = None
    """Lanes with a limit, a rate or a run."""
    task_lanes: int | None = None
    """Lanes that one task names."""
    destinations: int | None = None
    """Destinations of messages to people."""
    chain_depth: int | None = None
    """Links from the first task of a chain to its last one."""
    gate_bytes: int | None = None
    """Size of the data of a gate's verdict, and of its state."""


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
    message_bytes=64 * 1024,
    message_streams=1_000,
    stream_messages=1_000_000,
    stream_readers=100,
    stored_message_bytes=1024 * 1024 * 1024,
    lanes=100,
    task_lanes=8,
    destinations=20,
    chain_depth=16,
    gate_bytes=64 * 1024,
)
AGENT_QUOTAS: Final = Quotas(timedelta(minutes=5), 10, 16 * 1024, 500, 2, message_bytes=16 * 1024)
"""No limit on the lifetime of an agent's task: a task with outside effects needs approval, and a prompt to the agent
itself is bounded by the interval and the number of tasks."""


class Principal(NamedTuple):
    """Authenticated caller. `actor` is the name in audit rows: the id of a token, or `local`; empty for actions of a program
    itself, which leave no audit rows. `via` is the front end, `request` the id of one request. `zone` and `quotas` are
    the owner's.

    With `agent`, the caller is an agent of the owner and may see and change only tasks that this agent created.
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
    """Role of the owner; None for callers without a token."""
    language: Language | None = None
    """The owner's language."""
    lineage: Lineage | None = None
    """The run in which an agent asks; None: the request comes from no run."""

    @property
    def owner_filter(self) -> str | None:
        """Owner to which reads are restricted; None for an admin, who sees all owners."""
        return None if self.admin and self.agent is None else self.owner

    @property
    def list_scope(self) -> str:
        """Owner whose tasks lists and counts show; for an admin all owners, without system tasks."""
        scope = self.owner_filter
        return EVERY_OWNER if scope is None else scope

    def as_system_reader(self) -> Principal:
        """Return the principal as a reader of lists of system tasks instead of others: its own; for an admin all."""
        scope = EVERY_SYSTEM_OWNER if self.owner_filter is None else system_owner(self.owner)
        return self._replace(owner=scope, admin=False, scopes=self.scopes & {Scope.READ})

    def require_scope(self, scope: Scope) -> None:
        """Raise `NotAllowed` if the principal lacks this scope."""
        if scope not in self.scopes or (scope is Scope.ADMIN and self.owner_filter is not None):
            english, chinese = _remedy(self, scope)
            raise refuse("not_allowed", scope=scope.value, remedy=english, remedy_zh=chinese)


def _remedy(principal: Principal, scope: Scope) -> tuple[str, str]:
    """Return the hint for a missing scope, in two languages: another token helps only where the role may have that scope."""
    if principal.role is None or scope in SCOPES_OF[principal.role]:
        english, chinese = _OTHER_TOKEN
    else:
        english, chinese = _ADMINS_ONLY if scope is Scope.ADMIN else _OTHER_ROLE
    facts = {"owner": principal.owner, "role": principal.role, "scope": scope.value}
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
"""Principal of a process that opens the store directly: admin rights, no token."""

AGENT_LABEL: Final = "horae/agent"
"""Label with the agent that created a task. Only the service writes labels with the prefix `horae/`."""
VIA_LABEL: Final = "horae/via"
TOKEN_LABEL: Final = "horae/token"  # noqa: S105 - the name of a label
RESERVED_LABEL_PREFIX: Final = "horae/"
