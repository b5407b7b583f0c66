"""Features of a database server that a store uses, and what still works without each: checked at the start of a node."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from ...message import Message


class Feature(StrEnum):
    SKIP_LOCKED = "skip_locked"
    ISOLATION = "isolation"
    PARTIAL_INDEXES = "partial_indexes"
    NOTIFICATIONS = "notifications"
    TRANSACTION_IDS = "transaction_ids"
    CLOCK = "clock"
    COLLATION = "collation"


class MissingFeature(NamedTuple):
    """A feature that the server lacks, or that this login may not use. `problem` is the answer of the server."""

    feature: Feature
    problem: str

    @property
    def is_required(self) -> bool:
        return self.feature not in _DISPENSABLE


_DISPENSABLE: Final = frozenset({Feature.NOTIFICATIONS, Feature.ISOLATION})
"""Features for which the store has a portable alternative: polling, and transactions that are tried again."""
CONSEQUENCES: Final = {
    Feature.SKIP_LOCKED: Message(
        "It cannot skip locked rows (FOR UPDATE SKIP LOCKED): nodes would wait for each other's claims, so none starts; reading works",
        "它不能跳过已锁定的行（FOR UPDATE SKIP LOCKED）：各节点会互相等待认领，因此都不会启动；读取仍可用",
    ),
    Feature.ISOLATION: Message(
        "Its transactions are not READ COMMITTED: everything works, and transactions that conflict are tried again, up to six times",
        "它的事务不是 READ COMMITTED：一切可用，冲突的事务最多重试六次",
    ),
    Feature.PARTIAL_INDEXES: Message(
        "It has no partial indexes: keys would not be unique, so no node starts",
        "它没有部分索引：键无法保证唯一，因此节点不会启动",
    ),
    Feature.NOTIFICATIONS: Message(
        "Processes cannot wake each other through it: everything works, but what another process adds is found by polling, "
        "up to 10 seconds late",
        "进程无法通过它互相唤醒：一切可用，但其他进程添加的内容要靠轮询发现，最多晚 10 秒",
    ),
    Feature.TRANSACTION_IDS: Message(
        "It gives no transaction ids: events would have no order, so no node starts",
        "它不提供事务编号：事件将没有顺序，因此节点不会启动",
    ),
    Feature.CLOCK: Message(
        "Its clock cannot be read: nodes could not agree on the time of leases, so none starts",
        "无法读取它的时钟：节点无法就租约时间达成一致，因此都不会启动",
    ),
    Feature.COLLATION: Message(
        "It does not compare texts byte by byte where it is asked to: pages of lists would miss rows, so no node starts",
        "它不能按要求逐字节比较文本：列表分页会漏掉行，因此节点不会启动",
    ),
}
"""One sentence for each feature: what is missing, and what still works."""


def required_of(missing: Iterable[MissingFeature]) -> list[MissingFeature]:
    return [each for each in missing if each.is_required]
