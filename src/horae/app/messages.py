"""`app.messages`: sends and reads the messages of streams as the owner of the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..model.messages import Cursor, MessagePage, Stream, StreamState
from ..service.messages.streams import MessageDraft
from ..service.tasks.task_request import Duration, read_duration

if TYPE_CHECKING:
    from .lifespan import AppLifespan


class AppMessages:
    """`owner` of each call is another owner; default: the app's."""

    def __init__(self, app: AppLifespan) -> None:
        self._app = app

    async def send(  # noqa: PLR0913 - fields of a message, each by its name
        self,
        stream: str,
        text: str,
        *,
        sender: str | None = None,
        id: str | None = None,  # noqa: A002 - the field of a message
        source: str | None = None,
        references: Sequence[Any] = (),
        owner: str | None = None,
    ) -> int:
        """Append a message and return its number. With `id`, sending it again appends nothing."""
        draft = MessageDraft(text, sender, id, source, references)
        (number,) = await self._app.service.streams.send(self._app.who, stream, [draft], owner)
        return number

    async def read(
        self, stream: str, *, after: int = 0, limit: int = 50, reader: str | None = None, owner: str | None = None
    ) -> MessagePage:
        """Return messages after a number, or after the cursor of a reader; no cursor moves."""
        return await self._app.service.streams.messages(
            self._app.who, stream, owner=owner, after=after, limit=limit, reader=reader
        )

    async def streams(self, *, owner: str | None = None) -> list[Stream]:
        """List all streams by owner and name."""
        found: list[Stream] = []
        after: str | None = None
        while True:
            page = await self._app.service.streams.page(self._app.who, after, owner=owner)
            found += page.items
            after = page.after
            if after is None:
                return found

    async def get(self, stream: str, *, owner: str | None = None) -> StreamState:
        """Return a stream with its cursors and gaps."""
        return await self._app.service.streams.get(self._app.who, stream, owner)

    async def keep(
        self, stream: str, *, count: int | None = None, age: Duration | None = None, owner: str | None = None
    ) -> Stream:
        """Set how many messages a stream keeps, and how long; None is the setting of the deployment."""
        keep_for = None if age is None else read_duration("age", age)
        return await self._app.service.streams.put(self._app.who, stream, owner, keep=count, keep_for=keep_for)

    async def register(self, stream: str, reader: str, *, after: int | None = None, owner: str | None = None) -> Cursor:
        """Register a reader after a number, at the end where None; a registered one stays where it is."""
        return await self._app.service.streams.register(self._app.who, stream, reader, owner, after=after)

    async def unregister(self, stream: str, reader: str, *, owner: str | None = None) -> None:
        await self._app.service.streams.unregister(self._app.who, stream, reader, owner)

    async def delete(self, stream: str, *, owner: str | None = None) -> None:
        """Delete a stream with its messages and cursors."""
        await self._app.service.streams.remove(self._app.who, stream, owner)
