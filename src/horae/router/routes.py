"""Finds the deployment of a credential: every deployment is asked with a proof, and the answer is cached without a secret."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import Final

from ..service.accounts.credential_lookup import Credential, CredentialLocation, CredentialState
from ..service.accounts.refusals import refuse as refuse_account
from .deployment_map import DeploymentMap
from .refusals import refuse
from .upstream import Upstream

LOG: Final = logging.getLogger("horae.router")
_MAX_CACHED: Final = 65_536
_MAX_MISPLACED: Final = 1_000


class Routes:
    """Deployments by credential. A deployment authenticates each request itself, so an old answer gives no right."""

    def __init__(self, deployment_map: DeploymentMap, upstreams: dict[str, Upstream]) -> None:
        self._map = deployment_map
        self._upstreams = upstreams
        self._cache: OrderedDict[Credential, str] = OrderedDict()
        self._pending: dict[Credential, asyncio.Task[str]] = {}
        self.misplaced: dict[str, str] = {}
        """Owners that were found in another deployment than the map says, with that deployment."""

    async def find(self, credential: Credential) -> Upstream:
        """Return the deployment where a credential is valid. Raises `bad_token` where it is valid nowhere, `owner_arriving`
        while its owner moves, and `deployment_unavailable` where a deployment that may have it does not answer."""
        name = self._cache.get(credential)
        if name is not None:
            self._cache.move_to_end(credential)
            return self._upstreams[name]
        pending = self._pending.get(credential)
        if pending is None:
            pending = self._pending[credential] = asyncio.ensure_future(self._look_up(credential))
            pending.add_done_callback(lambda _done: self._pending.pop(credential, None))
        # A client that goes away ends no lookup that others wait for.
        name = await asyncio.shield(pending)
        self._cache[credential] = name
        if len(self._cache) > _MAX_CACHED:
            self._cache.popitem(last=False)
        return self._upstreams[name]

    def forget(self, credential: Credential) -> None:
        """Look the credential up again at its next use."""
        self._cache.pop(credential, None)

    async def _look_up(self, credential: Credential) -> str:
        upstreams = self._upstreams.values()
        answers = await asyncio.gather(*(each.locate(credential) for each in upstreams))
        found = dict(zip(self._upstreams, answers, strict=True))
        here = {name: each for name, each in found.items() if each is not None and each.state is CredentialState.HERE}
        if here:
            return self._choose(here)
        known = {name: each for name, each in found.items() if each is not None}
        for location in known.values():
            if location.state is CredentialState.ARRIVING:
                raise refuse_account("owner_arriving", owner=location.owner)
        if len(known) < len(found):
            raise refuse("deployment_unavailable")
        for name, location in known.items():
            if location.state is CredentialState.MOVED and self._map.at_place(location.place) is None:
                # It lives outside of this map: the refusal of its former deployment names the place.
                return name
        raise refuse_account("bad_token")

    def _choose(self, here: dict[str, CredentialLocation]) -> str:
        """Return where a credential is valid; of several deployments, which copies of a database can be, the mapped one."""
        for name, location in here.items():
            if location.is_admin or self._map.deployment_of(location.owner).name == name:
                self.misplaced.pop(location.owner, None)
                return name
        name, location = next(iter(here.items()))
        if location.owner not in self.misplaced and len(self.misplaced) < _MAX_MISPLACED:
            mapped = self._map.deployment_of(location.owner).name
            LOG.warning("owner %s lives in %s, and [owners] of horae.toml says %s", location.owner, name, mapped)
            self.misplaced[location.owner] = name
        return name
