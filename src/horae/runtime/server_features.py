"""Checks at the start of a node that its database server has what the store uses: a missing feature is refused or logged."""

from __future__ import annotations

import logging
from typing import Final

from ..clock import Clock
from ..stores.refusals import refuse
from ..stores.sql.features import CONSEQUENCES, MissingFeature, required_of
from .stores import MYSQL, POSTGRES, mask_url

LOG: Final = logging.getLogger("horae")


async def find_missing_features(url: str, clock: Clock) -> tuple[MissingFeature, ...]:
    """Return the features that the store uses and the server lacks; none for a store that is not on a SQL server."""
    if url.startswith(POSTGRES):
        from ..stores.postgres.features import find_missing_features as of_postgres  # noqa: PLC0415 - loaded where it is used

        return await of_postgres(url, clock)
    if url.startswith(MYSQL):
        from ..stores.mysql.features import find_missing_features as of_mysql  # noqa: PLC0415 - loaded where it is used

        return await of_mysql(url, clock)
    return ()


async def check_server_features(url: str, clock: Clock) -> None:
    """Raise a refusal for a feature without which no node can work; log each of the others with what still works."""
    missing = await find_missing_features(url, clock)
    for each in required_of(missing):
        problem = CONSEQUENCES[each.feature]
        raise refuse("store_feature_missing", place=mask_url(url), problem=problem, answer=each.problem)
    for each in missing:
        LOG.warning("%s: %s (%s)", mask_url(url), CONSEQUENCES[each.feature].in_language("en"), each.problem)
