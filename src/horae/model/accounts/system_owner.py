"""Owners of system tasks: a reserved name derived from the user's, so that lists, quotas and counts by owner leave them out."""

from __future__ import annotations

from typing import Final

SYSTEM_PREFIX: Final = "horae:"
"""Prefix of the owners of system tasks; no account can have such a name."""
EVERY_OWNER: Final = "*"
"""Scope of lists and counts: every owner, without system tasks."""
EVERY_SYSTEM_OWNER: Final = SYSTEM_PREFIX + "*"
"""Scope of lists and counts: the system tasks of every owner."""
_SCOPES: Final = frozenset({EVERY_OWNER, EVERY_SYSTEM_OWNER})


def system_owner(owner: str) -> str:
    """Return the owner of the system tasks that run on behalf of this account."""
    return owner if owner.startswith(SYSTEM_PREFIX) else SYSTEM_PREFIX + owner


def is_system_owner(owner: str) -> bool:
    return owner.startswith(SYSTEM_PREFIX)


def account_of(owner: str) -> str:
    """Return the account on whose behalf tasks of this owner run: the owner itself, but for system tasks."""
    return owner.removeprefix(SYSTEM_PREFIX)


def scope_of(owner: str) -> str:
    """Return the scope of many owners that an owner belongs to."""
    return EVERY_SYSTEM_OWNER if owner.startswith(SYSTEM_PREFIX) else EVERY_OWNER


def is_scope(owner: str | None) -> bool:
    """Whether a filter stands for many owners; None stands for all, system tasks included."""
    return owner is None or owner in _SCOPES


def is_listed(scope: str | None, owner: str) -> bool:
    """Whether a list for this scope has the tasks and runs of an owner."""
    return scope is None or scope == owner or (scope in _SCOPES and scope_of(owner) == scope)


def is_readable(scope: str | None, owner: str) -> bool:
    """Whether a reader of this scope may read a task or run of an owner by its id: an account its system tasks, too."""
    return is_listed(scope, owner) or (scope is not None and owner == SYSTEM_PREFIX + scope)
