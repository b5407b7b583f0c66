"""Creates the store and the wake-up notifier for a store URL, by its scheme."""

from __future__ import annotations

import errno
import os
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from ..clock import Clock, SystemClock
from ..model.refusals import refuse
from ..ports.full_store import FullStore, Wakeup
from ..stores.addresses.masked_url import has_secret as has_secret  # noqa: PLC0414 - shown here too
from ..stores.addresses.masked_url import mask_url as mask_url  # noqa: PLC0414
from ..stores.addresses.masked_url import without_password as without_password  # noqa: PLC0414
from ..stores.addresses.server_hosts import UnreadableHostError, split_server_url

DEFAULT_STORE: Final = "sqlite:///horae.db"
MEMORY: Final = "memory://"
POSTGRES: Final = ("postgresql:", "postgres:")
MYSQL: Final = ("mysql:", "mariadb:")
REDIS: Final = ("redis:", "rediss:", "redis+sentinel:", "rediss+sentinel:", "redis+cluster:", "rediss+cluster:")
_MYSQL_POLL_INTERVAL: Final = timedelta(seconds=1)


class NoNotifier:
    """Notifier that does nothing: no other process shares the store, or polling was configured."""

    def notify(self) -> None: ...

    def listen(self, heard: object) -> None: ...

    def close(self) -> None: ...

    async def finish(self) -> None: ...


def make_store(url: str, clock: Clock | None = None) -> FullStore:
    """Create the store of a URL, not opened yet; raises a refusal for an unknown one.

    `memory://`, `sqlite:///relative.db`, `sqlite:////absolute.db`, or `postgresql://user:password@host/database` and the
    same with `mysql://` or `mariadb://`, or `redis://user:password@host/0`. The store reads the time from `clock` alone, by default the system clock.
    """
    clock = SystemClock() if clock is None else clock
    if url == MEMORY:
        from ..stores.memory import MemoryStore  # noqa: PLC0415 - each store loads only where it is used

        return MemoryStore()
    if url.startswith(POSTGRES):
        from ..stores.postgres import PostgresStore  # noqa: PLC0415

        return PostgresStore(url, clock=clock)
    if url.startswith(MYSQL):
        from ..stores.mysql import MySQLStore  # noqa: PLC0415

        return MySQLStore(url, clock=clock)
    if url.startswith(REDIS):
        from ..stores.redis import RedisStore  # noqa: PLC0415

        return RedisStore(url, clock=clock)
    path = sqlite_path(url)
    if path is None:
        raise refuse("unknown_store", url=mask_url(url))
    from ..stores.sqlite import SQLiteStore  # noqa: PLC0415

    return SQLiteStore(path, clock=clock)


def make_wakeup(url: str, *, precise: bool, clock: Clock | None = None) -> Wakeup:
    """Create the notifier between processes on this store: NOTIFY, advisory locks, PUBLISH, a socket, or none."""
    clock = SystemClock() if clock is None else clock
    if precise and url.startswith(POSTGRES):
        from ..stores.postgres.notify import PostgresNotifier  # noqa: PLC0415

        return PostgresNotifier(url, clock)
    if precise and url.startswith(MYSQL):
        from ..stores.mysql.wakeup import MySQLNotifier  # noqa: PLC0415

        return MySQLNotifier(url, clock)
    if precise and url.startswith(REDIS):
        from ..stores.redis.connections.notify import RedisNotifier  # noqa: PLC0415

        return RedisNotifier(url, clock)
    path = sqlite_path(url)
    if path is None or not precise or os.name != "posix":
        return NoNotifier()
    from ..stores.sqlite.wakeup import SocketNotifier  # noqa: PLC0415

    return SocketNotifier(os.path.realpath(path))


def default_poll_interval(url: str) -> timedelta | None:
    """Return how often to poll the agenda where a notification may get lost; None: at the poll ceiling."""
    return _MYSQL_POLL_INTERVAL if url.startswith(MYSQL) else None


def sqlite_path(url: str) -> str | None:
    scheme, separator, path = url.partition(":///")
    if not separator or scheme != "sqlite" or path in ("", ":memory:"):
        return None
    return str(Path(unquote(path)).expanduser())


def is_on_server(url: str) -> bool:
    """Whether the store is on a database server, which other machines may share."""
    return url.startswith((*POSTGRES, *MYSQL, *REDIS))


def names_several_hosts(url: str) -> bool:
    """Whether the URL names several database servers, of which one at a time takes writes."""
    if not url.startswith((*POSTGRES, *MYSQL)):
        return False
    try:
        return len(split_server_url(url).hosts) > 1
    except UnreadableHostError:
        return False


class AccessProblem(NamedTuple):
    """Access to the file or its folder that the system denies, with its reason."""

    path: Path
    use: Literal["reading", "writing"]
    reason: str


def find_access_problem(path: Path) -> AccessProblem | None:
    """Return what prevents the use of an existing file; SQLite needs write access to its folder too, for the write-ahead log.

    Checked before it is opened, because SQLite would only report that it could not.
    """
    if not os.access(path, os.R_OK):
        return AccessProblem(path, "reading", _reason(path))
    for place in (path, Path(os.path.realpath(path)).parent):
        if not os.access(place, os.W_OK):
            return AccessProblem(place, "writing", _reason(place))
    return None


def _reason(place: Path) -> str:
    if hasattr(os, "statvfs") and os.statvfs(place).f_flag & os.ST_RDONLY:
        return os.strerror(errno.EROFS)
    return os.strerror(errno.EACCES)
