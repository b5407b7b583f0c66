"""Status of a store without opening it: schema of a file; version, durability and missing features of a server; drivers."""

from __future__ import annotations

import logging
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from ..clock import Clock, SystemClock
from ..stores.refusals import refuse
from ..stores.sql.features import CONSEQUENCES, MissingFeature, required_of
from ..stores.sql.reads.status import PossibleLoss as PossibleLoss  # noqa: PLC0414 - shown here too
from ..stores.sql.reads.status import ServerStatus as ServerStatus  # noqa: PLC0414 - shown here too
from .stores import MYSQL, POSTGRES, REDIS, mask_url

if TYPE_CHECKING:
    from ..stores.sqlite.migrate import FileStatus

_DRIVERS: Final = {POSTGRES: "asyncpg", MYSQL: "asyncmy", REDIS: "redis"}


def read_file_status(path: str) -> FileStatus:
    """Return the schema and settings of a file; raises `StoreDamaged` for a file that is not a Horae store."""
    from ..stores.sqlite.migrate import read_status  # noqa: PLC0415 - each store loads only where it is used

    return read_status(path, SystemClock())


async def read_server_status(url: str, clock: Clock) -> ServerStatus | None:
    """Return the server's version and durability settings; None for a store that is not on a server."""
    if url.startswith(POSTGRES):
        from ..stores.postgres.status import read_status as of_postgres  # noqa: PLC0415

        return await of_postgres(url, clock)
    if url.startswith(MYSQL):
        from ..stores.mysql.status import read_status as of_mysql  # noqa: PLC0415

        return await of_mysql(url, clock)
    if url.startswith(REDIS):
        from ..stores.redis.connections.status import read_status as of_redis  # noqa: PLC0415

        return await of_redis(url, clock)
    return None


def driver_of(url: str) -> str:
    """Return the name of the database driver, with its version where it is installed."""
    name = next(driver for schemes, driver in _DRIVERS.items() if url.startswith(schemes))
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return name


def library_versions() -> tuple[str, str]:
    """Return the version of SQLite, and of the library that contains it."""
    from ..stores.sqlite.migrate import library_versions  # noqa: PLC0415

    return library_versions()


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
