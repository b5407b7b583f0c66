"""Refusals for `using=`, the caller's transaction, and a mixin for stores that refuse all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..errors import Conflict, Refusal
from ..model.change import Change
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "no_shared_transaction": RefusalEntry(
            Refusal,
            "This store cannot take a task into a transaction of yours.",
            "Leave 'using' out, or keep the tasks in SQLite or PostgreSQL, beside your own tables.",
            "此存储无法把任务纳入您自己的事务。",
            "请省略 using,或把任务与您自己的表一起放在 SQLite 或 PostgreSQL 中。",
        ),
        "wrong_connection": RefusalEntry(
            Refusal,
            "{came} has no transaction that this store could join.",
            "Give it {wanted}.",
            "{came} 没有此存储可以加入的事务。",
            "请给出 {wanted}。",
        ),
        "no_transaction": RefusalEntry(
            Conflict,
            "The connection is in no transaction, so the task and your own writes would not be committed together.",
            "Begin one first, for example with {begin}.",
            "该连接不在事务中,任务与您自己的写入无法一起提交。",
            "请先开始事务,例如 {begin}。",
        ),
        "failed_transaction": RefusalEntry(
            Conflict,
            "The transaction of the connection has failed before and accepts no more writes.",
            "Roll it back, and begin again.",
            "该连接的事务此前已失败,不再接受任何写入。",
            "请回滚后重新开始。",
        ),
        "busy_transaction": RefusalEntry(
            Conflict,
            "Another connection is writing, or has written since the transaction first read: it cannot write now.",
            "Roll back and try again; on SQLite with BEGIN IMMEDIATE, on a connection with a busy timeout.",
            "另一个连接正在写入,或在该事务首次读取之后已有写入:它现在无法写入。",
            "请回滚后重试;在 SQLite 上请在设置了忙等待时间的连接上使用 BEGIN IMMEDIATE。",
        ),
        "another_database": RefusalEntry(
            Conflict,
            "The connection leads to another database than the tasks of this store.",
            "Use a connection to {place}.",
            "该连接指向的数据库不是此存储保存任务的数据库。",
            "请使用连接到 {place} 的连接。",
        ),
        "another_library": RefusalEntry(
            Refusal,
            "sqlite3 and apsw have a copy of SQLite each in this process ({theirs} and {ours}): on one file, neither sees the "
            "locks of the other, and writes get lost.",
            "Open the connection with apsw.Connection(path), and keep sqlite3 away from this file.",
            "此进程中 sqlite3 与 apsw 各带一份 SQLite({theirs} 与 {ours}):在同一文件上它们看不到对方的锁,写入会丢失。",
            "请用 apsw.Connection(path) 打开连接,不要用 sqlite3 打开这个文件。",
        ),
        "another_thread": RefusalEntry(
            Conflict,
            "The connection belongs to another thread or event loop, and can only be used there.",
            "{how}.",
            "该连接属于另一个线程或事件循环,只能在那里使用。",
            "{how_zh}。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


class NoSharedTransactions:
    @property
    def shares_transactions(self) -> bool:
        return False

    async def add_using(
        self,
        connection: object,  # noqa: ARG002
        changes: Sequence[Change],  # noqa: ARG002
        on_end: Callable[[], None],  # noqa: ARG002
    ) -> None:
        raise refuse("no_shared_transaction")
