"""Optimistic transaction: reads documents with their versions, collects writes, and commits them by one script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ..layout.keys import Keys

VERSION_LENGTH: Final = 16
_ABSENT: Final = ""
_MAX_WORDS: Final = 2_000
"""Most members of one command: a script passes the words of a command on its stack, which is bounded."""

Word: TypeAlias = str | int | float


class Committed(NamedTuple):
    """Number of a commit (0: nothing was to be written), number of its first event, and answers of its questions."""

    number: int = 0
    first_event: int = 0
    answers: tuple[Any, ...] = ()

    @property
    def version(self) -> str:
        """Version of the documents that it has written."""
        return f"{self.number:016x}"


class Client(Protocol):
    """Commands of a connection, as the transaction needs them; values are text."""

    async def call(self, *words: Word) -> Any:
        """Run one command."""

    async def call_all(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Run several commands in one round trip."""

    async def run_script(self, name: str, keys: Sequence[str], values: Sequence[Word]) -> Any:
        """Run the script `lua/NAME.lua`."""


class Transaction:
    """Documents that were read are guards: the commit writes nothing if one of them has another version by then.

    A document that this transaction has put is read back as it was put. Index commands take effect at the commit alone:
    a caller that reads an index must add what this transaction changes in it.
    """

    def __init__(self, client: Client, keys: Keys, *, is_retry: bool = False) -> None:
        self.client: Final = client
        self.keys: Final = keys
        self.is_retry: Final = is_retry
        """Whether an earlier attempt at the same transaction found a changed document."""
        self.changed: tuple[str, ...] = ()
        """Keys that made the commit fail."""
        self._versions: dict[str, str] = {}
        self._texts: dict[str, str | None] = {}
        self._conditions: list[tuple[str, tuple[Word, ...]]] = []
        self._put: dict[str, str] = {}
        self._tails: dict[str, tuple[int, str]] = {}
        self._events: list[tuple[str, str]] = []
        self._commands: list[tuple[Word, ...]] = []
        self._questions: list[tuple[Word, ...]] = []
        self._reads = 0

    async def read(self, keys: Iterable[str]) -> list[str | None]:
        """Return the texts of documents in this order; None for an absent one."""
        wanted = list(keys)
        missing = [key for key in dict.fromkeys(wanted) if key not in self._texts]
        if missing:
            if not self._tails.keys().isdisjoint(missing):
                raise AssertionError("a document was read of which a part is written")
            self._reads += 1
            for key, value in zip(missing, await self.client.call("MGET", *missing), strict=True):
                self.take(key, value)
        return [self._texts[key] for key in wanted]

    async def read_one(self, key: str) -> str | None:
        (text,) = await self.read((key,))
        return text

    def take(self, key: str, value: str | None) -> str | None:
        """Take a document with its version that a script has returned, as if it had been read; return its text."""
        self._versions[key] = _ABSENT if value is None else value[:VERSION_LENGTH]
        self._texts[key] = None if value is None else value[VERSION_LENGTH:]
        return self._texts[key]

    def guard(self, key: str, version: str) -> None:
        """Commit only if the document has this version: the caller has it in a cache."""
        self._versions[key] = version
        self._reads += 2

    def forget(self, key: str) -> None:
        """Do not check the version of a document that was read: nothing depends on it."""
        self._versions.pop(key, None)
        self._texts.pop(key, None)

    def require_absent(self, key: str) -> None:
        """Commit only if there is no such document."""
        self._versions.setdefault(key, _ABSENT)

    def is_known(self, key: str) -> bool:
        """Whether the document was read and exists."""
        return self._texts.get(key) is not None

    def is_document(self, key: str) -> bool:
        """Whether this is the key of a document, not of an index."""
        return key.startswith(self.keys.document_prefixes)

    def text_of(self, key: str) -> str | None:
        """Return the text of a document that was read; None if it is absent."""
        return self._texts[key]

    def version_of(self, key: str) -> str:
        """Return the version of a document that was read; an empty text: it is absent."""
        return self._versions[key]

    def require(self, expected: str, *words: Word) -> None:
        """Commit only if a command gives this answer; no answer is an empty text."""
        self._conditions.append((expected, words))

    def put(self, key: str, text: str | None) -> None:
        """Write a document, or delete it (None). It must have been read, or required to be absent."""
        if key not in self._versions:
            raise AssertionError(f"{key} was not read")
        self._texts[key] = text
        self._put[key] = text or ""

    def put_tail(self, key: str, place: int, text: str) -> None:
        """Write a document from this byte on, and leave what is before it and behind it; it is not read again."""
        if not self._versions.get(key):
            raise AssertionError(f"{key} was not read")
        self._texts.pop(key, None)
        self._tails[key] = VERSION_LENGTH + place, text

    def add_event(self, owner: str, text: str) -> None:
        self._events.append((owner, text))

    def call(self, *words: Word) -> None:
        """Run an index command at the commit. A command that fails in the script would leave a part written: each key has
        one type, and no command depends on a value that another client may change."""
        self._commands.append(words)

    def call_with(self, command: str, key: str, words: Sequence[Word]) -> None:
        """Run an index command with any number of members, as several commands if there are many. With pairs, the number
        of words is even."""
        for start in range(0, len(words), _MAX_WORDS):
            self._commands.append((command, key, *words[start : start + _MAX_WORDS]))

    def ask(self, *words: Word) -> None:
        """Run a command after the writes of the commit; its answer is among those of the commit."""
        self._questions.append(words)

    @property
    def is_empty(self) -> bool:
        return not (self._put or self._tails or self._events or self._commands)

    async def commit(self) -> Committed | None:
        """Write everything, or return None if a document has changed since it was read."""
        if self.is_empty and not self._questions and self._reads <= 1:
            # One read is consistent.
            return Committed()
        keys = self.keys
        names = (keys.commits, keys.last_event, keys.events, keys.owner_events(""), keys.reserved, keys.tag)
        first, *rest = await self.client.run_script("commit", names, self._words())
        if not first:
            self.changed = tuple(rest)
            return None
        return Committed(int(first), int(rest[0]), tuple(rest[1:]))

    def _words(self) -> list[Word]:
        """Return what the script reads, list after list."""
        guards: list[Word] = [word for pair in self._versions.items() if pair[1] for word in pair]
        absent = [key for key, version in self._versions.items() if not version]
        words: list[Word] = [len(guards) // 2, *guards, len(absent), *absent, len(self._conditions)]
        for expected, condition in self._conditions:
            words += (expected, len(condition), *condition)
        words.append(len(self._put))
        for put in self._put.items():
            words += put
        words.append(len(self._tails))
        for key, (place, text) in self._tails.items():
            words += (key, place, text)
        words.append(len(self._events))
        for event in self._events:
            words += event
        words.append(len(self._commands))
        for command in (*self._commands, *self._questions):
            words.append(len(command))
            words += command
        return words

    async def is_current(self) -> bool:
        """Return whether all documents still are as they were read."""
        checked = Transaction(self.client, self.keys)
        checked._versions, checked._conditions, checked._reads = self._versions, self._conditions, 2
        if await checked.commit() is not None:
            return True
        self.changed = checked.changed
        return False
