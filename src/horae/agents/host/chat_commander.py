"""Executes commands of a chat through the service, each once, and answers in the chat; no agent is asked.

A change of a task commits with the record of its command. The answer commits with the mark that it was given. So a crash
before the change repeats it, a crash between the two repeats the answer, and a crash after both repeats nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple

from ...choices import Language
from ...clock import Clock
from ...errors import Conflict, HoraeError, NotFound, Refusal
from ...lifecycle.control.restore import restorable_change
from ...message import Message
from ...model.accounts.pause_change import pause_change_from, pause_change_record
from ...model.accounts.principal import LOCAL, SCOPES_OF, Principal, Role
from ...model.agents.group import Group, folder_of_owner
from ...model.change import Change, Facts
from ...model.ids import to_microseconds
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse
from ...model.task import OPEN_STATES, PauseCause, TaskState
from ...ports.store import TaskFilter
from ...schedule.after import with_names
from ...schedule.describe import describe_schedule
from ...service.service import Service
from ...wire.instants import local
from ...wire.problems import sentence_of
from ...wire.tasks.task import next_due
from ..router.chat_commands import CHINESE_WORDS, ChatCommand, ChatVerb
from ..router.pending_messages import PendingCommand
from . import command_texts as words
from .command_records import COMMAND_KIND, ExecutedCommand, command_from, command_key, command_record
from .outbox import Outbox

LOG: Final = logging.getLogger("horae.agents")
_SHOWN_TASKS: Final = 30
_LOOK_BACK: Final = 50
"""Commands before one that are read: for /undo, and for the numbers of the last list."""
_MAX_GROUPS: Final = 500
_NUMBER: Final = re.compile(r"#?(?P<number>\d{1,3})[.、]?")
_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_SHOWN_STATES: Final = OPEN_STATES | {TaskState.FAILED}


class _Request(NamedTuple):
    """One command with its group, the owners whose tasks it may touch, and the language of the answer."""

    group: Group
    pending: PendingCommand
    owners: tuple[str, ...]
    language: Language
    zone: str

    @property
    def number(self) -> int:
        return self.pending.message.number

    @property
    def command(self) -> ChatCommand:
        return self.pending.command

    @property
    def verb(self) -> ChatVerb:
        return self.pending.command.verb

    def principal(self, owner: str) -> Principal:
        """A person of the chat has the rights of its group, and of all groups in the main one."""
        actor = f"chat:{self.pending.message.sender}"[:100]
        return Principal(
            owner,
            scopes=SCOPES_OF[Role.MEMBER],
            actor=actor,
            via="chat",
            zone=self.zone,
            role=Role.MEMBER,
            language=self.language,
        )


class _Reply(NamedTuple):
    """Answer to a command. `listed` are the id and the owner of each task that it numbers."""

    text: str
    listed: tuple[tuple[str, str], ...] = ()


class ChatCommander:
    def __init__(self, service: Service, clock: Clock, outbox: Outbox) -> None:
        self._service = service
        self._clock = clock
        self._outbox = outbox

    async def execute(self, group: Group, pending: PendingCommand) -> None:
        """Execute a command and answer it, unless that was done before. Errors of the store are raised: it is tried again."""
        key = command_key(group, pending.message.number)
        record = await self._service.store.get_record(COMMAND_KIND, key)
        done = None if record is None else command_from(record)
        if done is not None and done.is_answered:
            return
        request = await self._read(group, pending)
        reply = _Reply("")
        try:
            reply = await (self._act(request) if done is None else self._describe(request, done))
        except Refusal as refusal:
            if isinstance(refusal, Conflict) and refusal.code == "record_changed":
                raise  # another process executes the same command
            reply = _Reply(_refusal_text(refusal, request.language))
        if done is None:
            record = await self._service.store.get_record(COMMAND_KIND, key)
            done = ExecutedCommand(request.number, request.verb) if record is None else command_from(record)
        await self._answer(request, done._replace(listed=reply.listed), reply.text)

    async def _answer(self, request: _Request, done: ExecutedCommand, text: str) -> None:
        record = command_record(request.group, done._replace(is_answered=True), self._clock.now())
        number = request.number
        await self._outbox.send(
            request.group, text, f"command:{number}", f"command {number}", [RecordWrite(record, done.version)]
        )

    async def _read(self, group: Group, pending: PendingCommand) -> _Request:
        language = await self._outbox.language_of(group)
        if language is None:
            language = "zh" if _CHINESE.search(pending.message.text) else "en"
        owners = [group.owner]
        if group.is_main:
            owners += [each.owner for each in await self._all_groups() if each.folder != group.folder]
        return _Request(group, pending, tuple(owners), language, group.zone or self._service.zone or "UTC")

    async def _all_groups(self) -> Sequence[Group]:
        return (await self._service.groups.page(LOCAL, limit=_MAX_GROUPS)).items

    # --- commands ----------------------------------------------------------------------------------------------------

    async def _act(self, request: _Request) -> _Reply:
        match request.verb:
            case ChatVerb.HELP:
                return _Reply(_help(request))
            case ChatVerb.TASKS:
                return await self._list(request)
            case ChatVerb.UNDO:
                return _Reply(await self._undo(request))
            case _:
                return await self._act_on_task(request)

    async def _act_on_task(self, request: _Request) -> _Reply:
        found = await self._find(request)
        if len(found) != 1:
            verb = CHINESE_WORDS[request.verb] if request.language == "zh" else request.verb.value
            return await self._numbered(request, words.WHICH_TASK.in_language(request.language, verb=verb), found)
        act = self._why if request.verb is ChatVerb.WHY else self._change
        return _Reply(await act(request, found[0]))

    async def _list(self, request: _Request) -> _Reply:
        found: list[Facts] = []
        for owner in request.owners:
            task_filter = TaskFilter(owner, states=_SHOWN_STATES)
            page = await self._service.tasks.page(request.principal(owner), task_filter, limit=_SHOWN_TASKS + 1)
            found += page.items
        number = min(len(found), _SHOWN_TASKS)
        head = words.TASKS.in_language(request.language, number=number, zone=request.zone)
        return await self._numbered(request, head, found)

    async def _numbered(self, request: _Request, head: str, found: Sequence[Facts]) -> _Reply:
        """Return the tasks with numbers, by which the next commands may name them."""
        if not found:
            return _Reply(words.NO_TASKS.in_language(request.language))
        shown = await self._with_names(request, found[:_SHOWN_TASKS])
        rows = [_row(request, facts, place) for place, facts in enumerate(shown, 1)]
        more = [words.MORE_TASKS.in_language(request.language)] if len(found) > len(shown) else []
        return _Reply("\n".join([head, *rows, *more]), tuple((each.task.id, each.task.owner) for each in shown))

    async def _with_names(self, request: _Request, found: Sequence[Facts]) -> list[Facts]:
        """Return the tasks with the names of their predecessors instead of the ids, to show them."""
        names: dict[str, str] = {}
        for owner in {each.task.owner for each in found}:
            tasks = [each.task for each in found if each.task.owner == owner]
            names |= await self._service.tasks.predecessor_names(request.principal(owner), tasks)
        return [
            each._replace(task=each.task._replace(schedule=with_names(each.task.schedule, names))) for each in found
        ]

    async def _find(self, request: _Request) -> Sequence[Facts]:
        """Find the task that a command names, by its name or its number in the last list; without a name, the only one.

        Several if it could be each of them; none if no name was given and there is no task.
        """
        argument = request.command.argument
        if not argument:
            return [each for owner in request.owners for each in await self._open_tasks(request, owner)]
        numbered = await self._find_by_number(request)
        for owner in request.owners:
            named = await self._service.tasks.named(request.principal(owner), argument)
            # A number is a part of many names: only a whole name goes before it.
            if named and (numbered is None or named[0].task.name == argument):
                return named
        if numbered is None:
            raise refuse("no_such_task", id=argument)
        return [numbered]

    async def _find_by_number(self, request: _Request) -> Facts | None:
        """Return the task with this number in the last answer to /tasks; None for any other argument."""
        found = _NUMBER.fullmatch(request.command.argument)
        if found is None:
            return None
        number = int(found["number"])
        async for command in self._former_commands(request):
            if command.listed:
                if not 1 <= number <= len(command.listed):
                    return None
                task_id, owner = command.listed[number - 1]
                if owner not in request.owners:
                    return None  # the group was the main one then
                return await self._service.tasks.get(request.principal(owner), task_id)
        return None

    async def _open_tasks(self, request: _Request, owner: str) -> Sequence[Facts]:
        task_filter = TaskFilter(owner, states=OPEN_STATES)
        return (await self._service.tasks.page(request.principal(owner), task_filter, limit=_SHOWN_TASKS + 1)).items

    async def _why(self, request: _Request, facts: Facts) -> str:
        zone = facts.task.schedule.zone or request.zone
        principal = request.principal(facts.task.owner)
        why = await self._service.explanations.explain(principal, facts.task.id, None, zone)
        sentence = why.explanation.in_language(request.language)
        at = _moment(local(why.at, zone) or "")
        return words.EXPLAINED.in_language(request.language, name=facts.task.name, at=at, sentence=sentence)

    async def _change(self, request: _Request, facts: Facts) -> str:
        """Pause, resume or cancel a task; the record of the command is written with the change."""
        task = facts.task
        if request.verb is ChatVerb.PAUSE and facts.status.state is TaskState.PAUSED:
            return await self._changed(request, facts, None)
        done = ExecutedCommand(request.number, request.verb, task.id, task.owner, task.name)
        is_changed = False

        def attach(before: Facts, change: Change) -> Sequence[RecordWrite]:
            nonlocal is_changed, done
            is_changed = change != Change()
            if not is_changed:
                return ()
            now = self._clock.now()
            changed = restorable_change(f"cmd{request.number}", before, change)
            if changed is not None:
                done = done._replace(pause_change=pause_change_record(changed, task.owner, now).body)
            if request.verb is ChatVerb.CANCEL and change.status is not None and change.status.ended is not None:
                done = done._replace(cancelled_at=to_microseconds(change.status.ended))
            return (RecordWrite(command_record(request.group, done, now)),)

        tasks = self._service.tasks.with_attached(attach)
        principal = request.principal(task.owner)
        if request.verb is ChatVerb.PAUSE:
            after = await tasks.pause(principal, task.id, note="/pause")
        elif request.verb is ChatVerb.RESUME:
            after = await tasks.resume(principal, task.id)
        else:
            after = await tasks.cancel(principal, task.id)
        return await self._changed(request, after, done if is_changed else None)

    async def _changed(self, request: _Request, facts: Facts, done: ExecutedCommand | None) -> str:
        (shown,) = await self._with_names(request, [facts])
        return _changed_text(request, shown, done)

    async def _undo(self, request: _Request) -> str:
        found = await self._last_change(request)
        if found is None:
            return words.NOTHING_TO_UNDO.in_language(request.language)
        if not found.can_be_undone:
            return words.CANCEL_IS_FINAL.in_language(request.language, name=found.task_name)
        now = self._clock.now()
        name, group = found.task_name, request.group
        undone = RecordWrite(command_record(group, found._replace(undone=True), now), found.version)
        done = ExecutedCommand(
            request.number, ChatVerb.UNDO, found.task_id, found.task_owner, name, undoes=found.verb.value
        )
        writes = (undone, RecordWrite(command_record(group, done, now)))
        key = f"cmd{found.number}/{found.task_id}"
        change = pause_change_from(Record("", key, found.task_owner, found.pause_change))
        tasks = self._service.tasks.with_attached(lambda _facts, change: () if change == Change() else writes)
        principal = request.principal(found.task_owner)
        await tasks.restore(principal, change)
        return await self._describe_change(request, done)

    async def _last_change(self, request: _Request) -> ExecutedCommand | None:
        async for command in self._former_commands(request):
            if command.is_change and not command.undone:
                return command
        return None

    async def _former_commands(self, request: _Request) -> AsyncIterator[ExecutedCommand]:
        """Yield the commands of the chat before this one, newest first."""
        prefix = command_key(request.group, 0)[:-12]
        page = await self._service.store.records(COMMAND_KIND, request.group.owner, None, _LOOK_BACK, newest=True)
        for record in page.items:
            if record.key.startswith(prefix):
                command = command_from(record)
                if command.number < request.number:
                    yield command

    async def _describe(self, request: _Request, done: ExecutedCommand) -> _Reply:
        """Return the answer to a command that was executed, from the task as it is now."""
        return _Reply(await self._describe_change(request, done)) if done.task_id else await self._act(request)

    async def _describe_change(self, request: _Request, done: ExecutedCommand) -> str:
        facts = await self._service.tasks.get(request.principal(done.task_owner), done.task_id)
        if not done.undoes:
            return await self._changed(request, facts, done)
        (facts,) = await self._with_names(request, [facts])
        texts = {
            ChatVerb.PAUSE: words.UNDONE_PAUSE,
            ChatVerb.RESUME: words.UNDONE_RESUME,
            ChatVerb.CANCEL: words.UNDONE_CANCEL,
        }
        return _receipt(request, texts[ChatVerb(done.undoes)], facts)


def _changed_text(request: _Request, facts: Facts, done: ExecutedCommand | None) -> str:
    """Return the receipt of a change; `done` is None where the task was as wanted already."""
    texts: dict[ChatVerb, tuple[Message, Message]] = {
        ChatVerb.PAUSE: (words.PAUSED, words.ALREADY_PAUSED),
        ChatVerb.RESUME: (words.RESUMED, words.NOT_PAUSED),
        ChatVerb.CANCEL: (words.CANCELLED, words.ALREADY_CANCELLED),
    }
    changed, same = texts[request.verb]
    text = same if done is None else changed if done.can_be_undone else words.CANCELLED_FOR_GOOD
    return _receipt(request, text, facts)


def _receipt(request: _Request, text: Message, facts: Facts) -> str:
    means = describe_schedule(facts.task.schedule, request.language)
    return text.in_language(request.language, name=facts.task.name, means=means, next=_next(request, facts))


def _help(request: _Request) -> str:
    trigger = ""
    if request.group.needs_trigger:
        trigger = words.WITH_TRIGGER.in_language(request.language, trigger=request.group.trigger)
    return words.HELP.in_language(request.language, trigger=trigger)


def _row(request: _Request, facts: Facts, place: int) -> str:
    means = describe_schedule(facts.task.schedule, request.language)
    next_text = _next(request, facts, named_zone=request.zone)
    if facts.task.owner == request.group.owner:
        return words.TASK_ROW.in_language(
            request.language, place=place, name=facts.task.name, means=means, next=next_text
        )
    return words.TASK_ROW_OF_GROUP.in_language(
        request.language,
        place=place,
        group=folder_of_owner(facts.task.owner) or facts.task.owner,
        name=facts.task.name,
        means=means,
        next=next_text,
    )


def _next(request: _Request, facts: Facts, named_zone: str | None = None) -> str:
    """Return the next time in the zone of the task; `named_zone` is one that the answer names already."""
    pause = facts.status.pause
    if pause is not None:
        is_approval = pause.cause is PauseCause.AWAITING_APPROVAL
        return (words.WAITS_FOR_APPROVAL if is_approval else words.PAUSED_STATE).in_language(request.language)
    upcoming = next_due(facts)
    if upcoming is None:
        return words.NO_NEXT.in_language(request.language)
    zone = facts.task.schedule.zone or request.zone
    at = _moment(local(upcoming, zone) or "")
    if zone == named_zone:
        return words.NEXT.in_language(request.language, at=at)
    return words.NEXT_IN_ZONE.in_language(request.language, at=at, zone=zone)


def _moment(shown: str) -> str:
    """Return `2026-11-18 09:00` of an instant in ISO format."""
    return shown[:16].replace("T", " ")


def _refusal_text(error: HoraeError, language: Language) -> str:
    sentence = sentence_of(error, language)
    if not sentence.message:
        return words.STORE_PROBLEM.in_language(language)
    # The hints of refusals name commands of a terminal.
    hint = words.TASKS_HINT.in_language(language) if isinstance(error, NotFound) else ""
    return words.REFUSED.in_language(language, message=sentence.message, hint=hint).strip()
