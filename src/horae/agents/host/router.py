"""Router: looks at new messages of all groups, executes their commands, and asks for the turns that they need.

A poll every two seconds is the truth; a message that is stored in this process, or reported by another one, is noticed at
once. The poll reads the event log behind its position: one query for all groups, which returns nothing while nothing happens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ...clock import Clock
from ...errors import Conflict, Refusal, StoreError
from ...model.accounts.principal import LOCAL
from ...model.accounts.system_owner import account_of, is_system_owner
from ...model.agents.group import Group, folder_of_owner
from ...model.events.event import Event, EventKind
from ...model.messages import PAGE_MESSAGES
from ...model.record import RecordWrite
from ...ports.chat_messages import read_chat_message
from ...ports.target import DEFAULT_READER
from ...service.service import Service
from ...store_retry import StoreRetry
from ..router.needs_turn import LastTurn, TurnNeed, decide_turn
from ..router.pending_messages import apply_changes, find_commands
from ..router.position import (
    POSITION_KIND,
    RouterPosition,
    StoredMessage,
    first_position,
    look_at,
    position_from,
    position_record,
)
from . import command_texts as words
from .chat_commander import ChatCommander
from .outbox import Outbox
from .task_notices import TaskNotices, needs_notice
from .turn_order import TurnOrder
from .turn_tasks import TurnState, TurnTasks
from .undelivered_texts import UndeliveredTexts, ends_delivery

LOG: Final = logging.getLogger("horae.agents")
POLL_SECONDS: Final = 2.0
_SHORTEST_PAUSE: Final = 0.05
"""Between two looks after writes that may have nothing to do with messages."""
_REFRESH_SECONDS: Final = 10.0
"""How often the groups themselves are read again, for changes that other processes made."""
_BATCH: Final = 500
_GROUP_PAGE: Final = 500
_PROBLEM_CHARACTERS: Final = 200
_TURN_EVENTS: Final = frozenset(
    {
        EventKind.RUN_STARTED,
        EventKind.RUN_SUCCEEDED,
        EventKind.RUN_FAILED,
        EventKind.RUN_TIMED_OUT,
        EventKind.RUN_LOST,
        EventKind.RUN_CANCELLED,
        EventKind.RUN_SKIPPED,
    }
)


class Router:
    """`on_turn` is called when messages of a group wait for a turn that goes on, which then reads them at once."""

    def __init__(
        self,
        service: Service,
        clock: Clock,
        commander: ChatCommander,
        outbox: Outbox,
        on_turn: Callable[[str], None] = lambda _folder: None,
    ) -> None:
        self._service = service
        self._store = service.store
        self._clock = clock
        self._commander = commander
        self._outbox = outbox
        self._turns = TurnTasks(service)
        self._task_notices = TaskNotices(service, clock, outbox)
        self._noted: dict[str, set[str]] = {}
        """Tasks with a run that failed or was skipped, by folder: their chat may need a notice."""
        self._undelivered_texts = UndeliveredTexts(service, outbox)
        self._undelivered: set[str] = set()
        """Folders with a text that could not be sent, and no notice of it in their chat yet."""
        self._on_turn = on_turn
        self._wakeup = asyncio.Event()
        self._position: int | None = None
        """Number of the last event that was read."""
        self._groups: dict[str, Group] = {}
        self._refreshed = float("-inf")
        self._dirty: dict[str, bool] = {}
        """Folders to look at, in order; True: at the start of the host, turns that were given up are tried again."""
        self._asked: dict[str, int] = {}
        """Cursor *handled* of a group when its last turn was requested."""
        self._is_written = False
        self._order = TurnOrder(clock)
        self._looked = float("-inf")
        self._held: set[str] = set()
        """Folders whose messages wait because agents are stopped, or the budget is used up."""

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(self._groups.values())

    def wake(self) -> None:
        """Look soon: something was written."""
        self._is_written = True
        self._wakeup.set()

    def note(self, group: Group) -> None:
        """Look at this group now: it has a new message."""
        self._dirty.setdefault(group.folder, False)
        self._wakeup.set()

    def refresh(self) -> None:
        """Read the groups again: one has changed."""
        self._refreshed = float("-inf")
        self._wakeup.set()

    async def run(self) -> None:
        """Recover unhandled messages, then look at new messages until cancelled."""
        retry = StoreRetry("routing of messages", self._clock)
        self._position = None
        while True:
            self._wakeup.clear()
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - a background loop survives everything but its cancellation
                await self._clock.pause(retry.failed(error))
                continue
            retry.succeeded()
            await self._wait()

    async def look(self) -> None:
        """Look once at everything that is new; the first time at every group."""
        self._looked = self._clock.steady()
        if self._position is None:
            position = await self._store.last_event()
            await self._load_groups(is_start=True)
            self._position = position
        elif self._clock.steady() - self._refreshed >= _REFRESH_SECONDS:
            await self._load_groups(is_start=False)
        await self._read_events()
        for folder in self._order.release():
            self._dirty.setdefault(folder, False)
        failure: Exception | None = None
        for folder in tuple(self._dirty):
            is_start = self._dirty.pop(folder)
            try:
                await self._handle(folder, is_start=is_start)
            except Exception as error:  # noqa: BLE001 - the other groups go on; this one is looked at again
                if _is_lasting(error):
                    # The same look would fail again, and the pause after it would delay all groups.
                    LOG.warning("the messages of the group %s wait: %s", folder, error)
                    continue
                self._dirty.setdefault(folder, is_start)
                failure = error
        if failure is not None:
            raise failure

    async def _wait(self) -> None:
        if self._dirty:
            return
        timer = asyncio.get_running_loop().call_later(POLL_SECONDS, self._wakeup.set)
        try:
            await self._wakeup.wait()
        finally:
            timer.cancel()
        early = self._looked + _SHORTEST_PAUSE - self._clock.steady()
        if self._is_written and not self._dirty and early > 0:
            await self._clock.pause(early)
        self._is_written = False

    async def _load_groups(self, *, is_start: bool) -> None:
        found: dict[str, Group] = {}
        after: str | None = None
        while True:
            page = await self._service.groups.page(LOCAL, after, _GROUP_PAGE)
            found |= {group.folder: group for group in page.items}
            after = page.after
            if after is None:
                break
        for folder, group in found.items():
            before = self._groups.get(folder)
            if group.node is not None and (is_start or before is None or before.node != group.node):
                # A task that was made meanwhile, or a change that a crash has cut short.
                await self._service.group_nodes.apply(LOCAL, group)
            if is_start or folder in self._held or before != group:
                self._dirty.setdefault(folder, is_start)
        self._groups = found
        self._refreshed = self._clock.steady()

    async def _read_events(self) -> None:
        while True:
            events = await self._store.events(self._position or 0, _BATCH)
            for each in events:
                folder = _folder_of_event(each.event)
                if folder is None:
                    self._note_problem(each.event)
                    continue
                if each.event.kind is not EventKind.MESSAGE_APPENDED:
                    self._order.started(folder)
                if each.event.kind is not EventKind.RUN_STARTED:
                    self._dirty.setdefault(folder, False)
            if events:
                self._position = events[-1].number
            if len(events) < _BATCH:
                return

    def _note_problem(self, event: Event) -> None:
        if event.kind is EventKind.CHANNEL_CONNECTED:
            self._dirty |= dict.fromkeys(self._undelivered - self._dirty.keys(), False)
        folder = folder_of_owner(event.owner)
        if folder is not None and ends_delivery(event):
            if event.kind is EventKind.DELIVERY_FAILED:
                self._undelivered.add(folder)
            if folder in self._undelivered:
                self._dirty.setdefault(folder, False)
        elif folder is not None and needs_notice(event):
            self._noted.setdefault(folder, set()).add(event.task_id)
            self._dirty.setdefault(folder, False)

    # --- one group -----------------------------------------------------------------------------------------------------

    async def _handle(self, folder: str, *, is_start: bool) -> None:
        group = self._groups.get(folder)
        if group is None:
            # A group of another process that is new, or one that was removed.
            group = await self._service.groups.find(folder)
            if group is None:
                return
            self._groups[folder] = group
        await self._tell_problems(group, is_start=is_start)
        state = await self._store.stream(group.owner, group.stream)
        if state is None:
            return
        handled = max((each.number for each in state.cursors if each.reader == DEFAULT_READER), default=0)
        position, is_saved = await self._look_at(group, handled, state.stream.last)
        is_saved = await self._ask(group, position, handled, is_start=is_start, is_saved=is_saved)
        if not is_saved:
            await self._save(group, position)

    async def _tell_problems(self, group: Group, *, is_start: bool) -> None:
        """Tell the chat of prompts that failed or were skipped, and of texts that were not sent.

        At the start also of those while no host was there.
        """
        noted = self._noted.setdefault(group.folder, set()) if is_start else self._noted.get(group.folder, set())
        if is_start:
            noted |= await self._task_notices.recent(group)
        if is_start or group.folder in self._undelivered:
            if await self._undelivered_texts.tell(group):
                self._undelivered.add(group.folder)
            else:
                self._undelivered.discard(group.folder)
        for task_id in sorted(noted):
            await self._task_notices.tell(group, task_id)
            noted.discard(task_id)

    async def _look_at(self, group: Group, handled: int, last: int) -> tuple[RouterPosition, bool]:
        """Look at the messages behind the position, and execute the commands among them; return the new position, and whether
        it is saved: without commands it commits with the turn that it leads to."""
        position = await self._load_position(group, handled)
        if position.seen >= last and position.executed >= last:
            return position, True
        before = position
        messages = await self._read(group, min(position.seen, position.executed))
        new = [each for each in messages if each.message.number > position.seen]
        looked = look_at(position, new, group, handled)
        if looked is None:
            position = first_position(group, position, handled)
            messages = await self._read(group, position.seen)
            looked = _look_at_all(position, messages, group, handled)
        commands = [
            each
            for each in find_commands([each.message for each in messages], group)
            if each.message.number > before.executed
        ]
        if not commands:
            return looked._replace(executed=looked.seen), False
        # Saved before they are executed; a crash in between leaves `executed` behind, and the commands are found again.
        position = await self._save(group, looked)
        for command in commands:
            await self._commander.execute(group, command)
        return await self._save(group, position._replace(executed=position.seen)), True

    async def _load_position(self, group: Group, handled: int) -> RouterPosition:
        record = await self._store.get_record(POSITION_KIND, group.folder)
        if record is None:
            return first_position(group, None, handled)
        position = position_from(record)
        return position if position.fits(group) else first_position(group, position, handled)

    async def _save(self, group: Group, position: RouterPosition) -> RouterPosition:
        """Write the position; a conflict means that another process routes this group now."""
        record = position_record(position, group.owner)
        if not await self._store.put_record(record, replacing=position.version):
            raise _OtherRouterError(group.folder)
        return position._replace(version=(position.version or 0) + 1)

    async def _read(self, group: Group, after: int) -> list[StoredMessage]:
        found: list[StoredMessage] = []
        while (page := await self._store.read_messages(group.owner, group.stream, after, PAGE_MESSAGES)) is not None:
            found += [StoredMessage(read_chat_message(each), each.message.at) for each in page.messages]
            if page.next_after is None:
                break
            after = page.next_after
        return found

    async def _ask(
        self, group: Group, position: RouterPosition, handled: int, *, is_start: bool, is_saved: bool
    ) -> bool:
        """Ask for a turn, or tell the chat of a failure, where the position needs it; return whether the position is saved."""
        if position.waking <= handled:
            self._held.discard(group.folder)
            self._order.forget(group.folder)
            return is_saved
        turn = await self._turns.state(group)
        if not turn.is_going_on and await self._is_held(group):
            self._held.add(group.folder)
            self._order.forget(group.folder)
            return is_saved
        is_start = is_start or group.folder in self._held
        self._held.discard(group.folder)
        need = decide_turn(
            position.waking_at,
            self._last_turn(group, turn, handled),
            is_going_on=turn.is_going_on,
            is_stopped=group.is_stopped,
            is_start=is_start,
        )
        if need in (TurnNeed.NONE, TurnNeed.GIVEN_UP):
            self._order.forget(group.folder)
        if need is TurnNeed.GOING_ON:
            if not is_saved:
                await self._save(group, position)
            self._on_turn(group.folder)
            return True
        if need is TurnNeed.ASK:
            # A group that had a turn lets those go first that wait for theirs. One with a node of its own waits apart.
            if group.node is None and not self._order.may_ask(group.folder):
                return is_saved
            self._asked[group.folder] = handled
            written = None if is_saved else RecordWrite(position_record(position, group.owner), position.version)
            with _other_router(group):
                is_asked = await self._turns.ask(group, turn.task, written)
            self._order.asked(group.folder)
            return is_saved or is_asked
        if need is TurnNeed.GIVEN_UP and turn.has_failed and position.failure_notice < position.waking:
            await self._tell_failure(group, position, turn)
            return True
        return is_saved

    async def _is_held(self, group: Group) -> bool:
        """Return whether no turn of the group may start now: agents are stopped, or the budget of the day is used up.

        The chat gets a notice about its budget once a day. The messages wait, and are looked at again with the groups.
        """
        if await self._service.agent_stop.check(group) is not None:
            return True
        refusal = await self._service.budgets.exhausted(group)
        if refusal is None:
            return False
        mark = await self._service.budgets.notice_write(group)
        if mark is not None:
            language = await self._outbox.language_of(group) or "en"
            note = refusal.note if language == "en" else refusal.note_zh
            text = words.BUDGET_USED_UP.in_language(language, note=note)
            source_id = f"budget:{refusal.until.isoformat()}"
            with _other_router(group):
                await self._outbox.send(group, text, source_id, "", [mark])
        return True

    def _last_turn(self, group: Group, turn: TurnState, handled: int) -> LastTurn | None:
        """Return the last turn. One that succeeded and handled nothing counts as failed: it must not be repeated for ever."""
        if turn.last is None or turn.began is None:
            return None
        is_success = turn.is_success and self._asked.get(group.folder) != handled
        return LastTurn(turn.began, is_success)

    async def _tell_failure(self, group: Group, position: RouterPosition, turn: TurnState) -> None:
        """Tell the chat once that its messages could not be answered; the text commits with the mark."""
        language = await self._outbox.language_of(group) or "en"
        run = turn.last
        error = "" if run is None or run.error is None else " ".join(run.error.split())[:_PROBLEM_CHARACTERS]
        text = words.TURN_FAILED.in_language(language, problem=error or words.NO_PROBLEM)
        noticed = position._replace(failure_notice=position.waking)
        write = RecordWrite(position_record(noticed, group.owner), position.version)
        origin = "" if run is None else run.id
        with _other_router(group):
            await self._outbox.send(group, text, f"failed:{position.waking}", origin, [write])


def _is_lasting(error: Exception) -> bool:
    """Return whether a look at a group was refused, such as a text beyond its quota: only a change of the group helps."""
    if not isinstance(error, Refusal) or isinstance(error, StoreError):
        return False
    return error.code != "record_changed"


class _OtherRouterError(Exception):
    """Another process has written the position of this group; it is read again."""


@contextmanager
def _other_router(group: Group) -> Iterator[None]:
    """Raise `_OtherRouterError` where a record that was to be written has changed."""
    try:
        yield
    except Conflict as conflict:
        if conflict.code != "record_changed":
            raise
        raise _OtherRouterError(group.folder) from conflict


def _look_at_all(position: RouterPosition, messages: list[StoredMessage], group: Group, handled: int) -> RouterPosition:
    """Look at all waiting messages again, after an edit or a deletion of the one that woke the agent."""
    stored = {each.message.id: each.stored for each in messages}
    kept = apply_changes([each.message for each in messages], group)
    looked = position
    for message in kept:
        found = look_at(looked, [StoredMessage(message, stored[message.id])], group, handled)
        looked = looked if found is None else found
    last = messages[-1].message.number if messages else position.seen
    return looked._replace(seen=last)


def _folder_of_event(event: Event) -> str | None:
    """Return the folder of the group that an event makes worth a look; None for other events."""
    if event.kind is EventKind.MESSAGE_APPENDED or (event.kind in _TURN_EVENTS and is_system_owner(event.owner)):
        return folder_of_owner(account_of(event.owner))
    return None
