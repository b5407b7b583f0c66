"""Deletion of the history of a task: its ended runs with their indexes and log lines."""

from __future__ import annotations

from ..layout.documents import decode_run_document
from ..layout.indexes import NOTHING, MembersSum, members_of_run, update_indexes
from ..layout.keys import RUN_RANK_LENGTH
from .transaction import Transaction


async def delete_history(transaction: Transaction, task_id: str) -> None:
    """Delete all ended runs of a task whose document this transaction has read, and deletes: it guards them."""
    keys = transaction.keys
    members = await transaction.client.call("ZRANGE", keys.task_runs(task_id), 0, -1)
    run_ids = [member[RUN_RANK_LENGTH:] for member in members]
    if run_ids:
        texts = await transaction.read(map(keys.run, run_ids))
        await delete_runs(transaction, [text for text in texts if text is not None])
        for run_id in run_ids:
            transaction.call("DEL", keys.log(run_id))
        transaction.call_with("ZREM", keys.logged_runs, run_ids)


async def delete_runs(transaction: Transaction, texts: list[str]) -> None:
    """Delete ended runs by the texts of their documents, which were read."""
    keys = transaction.keys
    before = MembersSum()
    for run in map(decode_run_document, texts):
        before.add(members_of_run(keys, run))
        transaction.put(keys.run(run.id), None)
    update_indexes(transaction, before.total, NOTHING)
