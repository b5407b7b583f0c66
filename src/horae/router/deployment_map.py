"""The map of `horae.toml`: deployments by name, and the deployment of each owner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..client.connection import check_address, refuse_plain_http
from ..model.accounts.account import is_owner_name
from ..settings import Settings
from .refusals import refuse

DEFAULT_OWNER: Final = "*"
"""Stands in the map for every owner that has no line of its own."""
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?", re.ASCII)
_FIELDS: Final = ("url", "store")


class Deployment(NamedTuple):
    """`url` is the address of its HTTP API, `store` its store where `horae move` is to know it."""

    name: str
    url: str
    store: str | None = None


class DeploymentMap(NamedTuple):
    """Deployments by name, names of deployments by owner, and the name of the default."""

    deployments: Mapping[str, Deployment]
    owners: Mapping[str, str]
    default: str

    @property
    def lines(self) -> dict[str, str]:
        """Lines of `[owners]`, the default last."""
        return {**self.owners, DEFAULT_OWNER: self.default}

    def deployment_of(self, owner: str) -> Deployment:
        """Return the deployment where an owner belongs."""
        return self.deployments[self.owners.get(owner, self.default)]

    def find(self, name: str) -> Deployment:
        if name not in self.deployments:
            raise refuse("no_such_deployment", name=name, allowed=", ".join(self.deployments))
        return self.deployments[name]

    def at_place(self, place: str) -> Deployment | None:
        """Return the deployment that callers of a moved owner are told, by its name or address."""
        return next((each for each in self.deployments.values() if place in (each.name, each.url)), None)


def read_deployment_map(settings: Settings, *, plain_http: bool) -> DeploymentMap:
    """Return the map of the settings; raises a refusal for one that is incomplete or contradicts itself.

    `plain_http`: whether deployments on other machines may be called without encryption.
    """
    deployments: dict[str, Deployment] = {}
    for name, fields in settings.deployments.items():
        deployment = _read_deployment(name, fields)
        if not plain_http:
            refuse_plain_http(deployment.url)
        same = next((each.name for each in deployments.values() if each.url == deployment.url), None)
        if same is not None:
            raise refuse("same_deployment_url", name=same, other=name)
        deployments[name] = deployment
    if not deployments:
        raise refuse("deployments_missing")
    owners = _read_owners(settings.owner_map, deployments)
    if DEFAULT_OWNER not in owners:
        raise refuse("no_default_deployment", name=next(iter(deployments)))
    default = owners.pop(DEFAULT_OWNER)
    return DeploymentMap(deployments, owners, default)


def _read_deployment(name: str, fields: Mapping[str, Any]) -> Deployment:
    if _NAME.fullmatch(name) is None:
        raise refuse("bad_deployment_name", name=name)
    for field, value in fields.items():
        if field not in _FIELDS:
            raise refuse("unknown_deployment_field", name=name, field=field, allowed=", ".join(_FIELDS))
        if not isinstance(value, str):
            raise refuse("bad_deployment_field", name=name, field=field)
    if "url" not in fields:
        raise refuse("deployment_without_url", name=name)
    return Deployment(name, check_address(fields["url"]), fields.get("store"))


def _read_owners(owners: Mapping[str, Any], deployments: Mapping[str, Deployment]) -> dict[str, str]:
    for owner, name in owners.items():
        if owner != DEFAULT_OWNER and not is_owner_name(owner):
            raise refuse("bad_mapped_owner", owner=owner)
        if not isinstance(name, str) or name not in deployments:
            raise refuse("owner_mapped_nowhere", owner=owner, name=name, allowed=", ".join(deployments))
    return dict(owners)
