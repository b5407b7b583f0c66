"""Stores for time travel: empty in memory, a copy of the app's store in memory, or the app's own store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple, TypeAlias

from ..clock import SystemClock
from ..engine.process_identity import is_gone
from ..errors import Conflict
from ..ports.full_store import FullStore
from ..ports.records import Record
from ..ports.transfer import Part, TransferItem
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry
from ..runtime import make_store, sqlite_path
from ..runtime.stores import mask_url
from ..service.accounts.secrets import KIND as SECRET
from ..transfer import NamedStore
from ..transfer.digest import read_pages
from ..transfer.idle_check import LivenessCheck, wait_until_idle

CATALOGUE: Final = RefusalCatalogue(
    {
        "travel_app_open": RefusalEntry(
            Conflict,
            "The app is open, so it cannot travel in time.",
            "Close it first: use TimeTravel outside of 'async with app:' and 'with app.sync():'.",
            "应用已打开,无法进行时间旅行。",
            "请先关闭它:不要在“async with app:”或“with app.sync():”之内使用 TimeTravel。",
        ),
        "travel_store_in_use": RefusalEntry(
            Conflict,
            "A node is using {store} ({nodes}), so time travel does not touch it.",
            "Leave store out to travel in memory, or stop the node first.",
            "有节点正在使用 {store}({nodes}),时间旅行不会触碰它。",
            "请省略 store,在内存中旅行;或先停止该节点。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


TravelStore: TypeAlias = Literal["memory", "copy", "own"]
TRAVEL_STORES: Final = ("memory", "copy", "own")
MEMORY: Final = "memory://"
VIRTUAL_HOME: Final = "life/"
"""Prefix of node homes in virtual time; no process has such a home."""


class Contents(NamedTuple):
    """All items of a store by part, in import order."""

    parts: tuple[tuple[Part, tuple[TransferItem, ...]], ...] = ()

    @property
    def has_secrets(self) -> bool:
        return any(isinstance(each, Record) and each.kind == SECRET for _, items in self.parts for each in items)

    async def load_into(self, store: FullStore) -> None:
        for part, items in self.parts:
            await store.import_page(part, items)


async def read_contents(url: str) -> Contents:
    """Read everything in the store at `url`. A SQLite file is copied first, so that its WAL files stay untouched."""
    path = sqlite_path(url)
    if _is_absent(url):
        return Contents()
    if path is None:
        return await _read_all(url)
    from ..stores.sqlite.backup import copy_file  # noqa: PLC0415 - only a copy of a file needs it

    with TemporaryDirectory(prefix="horae-travel-") as folder:
        copy = f"{folder}/copy.db"
        copy_file(path, copy)
        return await _read_all(f"sqlite:///{copy}", shared=False)


async def refuse_store_in_use(url: str) -> None:
    """Refuse a store that a live node uses. A node on another machine is watched until its lease expires."""
    if _is_absent(url):
        return
    async with _opened(url) as store:
        await _refuse_nodes(url, store)


def _is_absent(url: str) -> bool:
    path = sqlite_path(url)
    return url == MEMORY or (path is not None and not Path(path).exists())


async def _read_all(url: str, *, shared: bool = True) -> Contents:
    """`shared`: other processes may use this store, so a live node is refused."""
    found: list[tuple[Part, tuple[TransferItem, ...]]] = []
    async with _opened(url) as store:
        if shared:
            await _refuse_nodes(url, store)
        for part in Part:
            items: Sequence[TransferItem] = [each async for page, _ in read_pages(store, part) for each in page]
            if items:
                found.append((part, tuple(items)))
    return Contents(tuple(found))


async def _refuse_nodes(url: str, store: FullStore) -> None:
    path = sqlite_path(url)
    side = NamedStore(mask_url(url) if path is None else Path(path).name, store)
    watching = LivenessCheck(SystemClock(), is_gone=lambda home: home.startswith(VIRTUAL_HOME) or is_gone(home))
    try:
        await wait_until_idle(side, watching, lambda _share: None)
    except Conflict:
        nodes = ", ".join(node.id for node in await store.nodes())
        raise refuse("travel_store_in_use", store=side.name, nodes=nodes) from None


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[FullStore]:
    store = make_store(url)
    try:
        await store.open()
        yield store
    finally:
        await store.close()
