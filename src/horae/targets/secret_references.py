"""Replaces secret references (`{"secret": "name"}`) in JSON by their values, and masks those values in output."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..model.accounts.secret_reference import REFERENCE_KEY as REFERENCE_KEY  # noqa: PLC0414 - targets spell references with it
from ..model.accounts.secret_reference import secret_name as secret_name  # noqa: PLC0414 - targets recognise references by it
from ..model.accounts.secret_reference import secret_names as secret_names  # noqa: PLC0414 - see above
from ..model.accounts.system_owner import account_of
from ..model.outcome import Failed
from ..model.reason import Reason
from ..ports.secret_masks import Masks
from ..ports.target import Secrets


class ResolvedValue(NamedTuple):
    """A value with its secrets inserted, and the masks that hide them."""

    value: Any
    masks: Masks

    def __repr__(self) -> str:
        """Hide the secrets from tracebacks and logs."""
        return "Filled(…)"


class SecretMissing(Exception):  # noqa: N818 - it says what is missing
    """A task refers to a secret that its owner does not have."""

    def __init__(self, name: str, owner: str) -> None:
        self.name = name
        super().__init__(f"there is no secret {name!r}; set it with: horae secret set {name} --owner {owner}")

    @property
    def outcome(self) -> Failed:
        return Failed(str(self), permanent=True, reason=Reason.NOT_CALLED)


async def resolve_secrets(value: Any, owner: str, secrets: Secrets) -> ResolvedValue:
    """Return the value with every reference replaced: a system task reads the secrets of its account. Raises `SecretMissing`."""
    owner = account_of(owner)
    revealed: dict[str, str] = {}
    for name in secret_names(value):
        if name not in revealed:
            secret = await secrets.reveal(owner, name)
            if secret is None:
                raise SecretMissing(name, owner)
            revealed[name] = secret
    return ResolvedValue(_replace_references(value, revealed), Masks(revealed.values()))


def _replace_references(value: Any, secrets: dict[str, str]) -> Any:
    name = secret_name(value)
    if name is not None:
        return secrets[name]
    if isinstance(value, dict):
        return {key: _replace_references(each, secrets) for key, each in value.items()}
    return [_replace_references(each, secrets) for each in value] if isinstance(value, list) else value
