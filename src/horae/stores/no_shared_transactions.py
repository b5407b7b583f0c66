"""Mixin for stores that cannot join a transaction of the caller: `add_using` is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.change import Change
from .shared_transaction_refusals import refuse


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
