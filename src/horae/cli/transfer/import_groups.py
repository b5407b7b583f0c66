"""Imports groups with their chats: registration, messages with the position of the handled ones, session and files.

A group that is registered already is not changed, and a chat whose messages were imported gets none again. A group is
stopped while its messages are written, so that no host answers some of them too early.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...agents.imported_files import CopiedFiles, copy_files
from ...agents.router.senders import SenderListError, read_sender_list
from ...agents.workspace import Workspace
from ...errors import NotFound, Refusal
from ...interchange import AgentGroup, RejectedItem
from ...interchange.fields import read_duration
from ...interchange.files import read_bytes, read_json
from ...interchange.import_result import make_excerpt, make_title
from ...interchange.nanoclaw_chats import ChatMessages, Conversation, OldMessage, chat_address, read_messages
from ...interchange.notes import note, refusal_note
from ...model.agents.group import (
    HANDLED_READER,
    MAX_AGENT_TIME,
    MAX_MOUNTS,
    AgentLimits,
    Group,
    GroupMount,
    check_group,
)
from ...model.ids import EPOCH
from ...model.limits import KEY_CHARACTERS
from ...model.messages import APPEND_MESSAGES, StreamState
from ...model.page import MAX_PAGE_SIZE
from ...ports.chat_messages import ASSISTANT_SOURCE
from ...schedule.compat import Note
from ...service.groups.refusals import refuse
from ...service.messages.streams import MessageDraft
from ..session.command_session import CommandSession

_SECOND: Final = timedelta(seconds=1)
MOUNT_LIST: Final = "mount-allowlist.json"
SENDER_LIST: Final = "sender-allowlist.json"
_LOGS: Final = "logs"
_TELEGRAM: Final = "telegram"


class GroupRequest(NamedTuple):
    """Group as an import wants it. `fields` are those of the service, `budget` are its limits for each day."""

    folder: str
    chat: str
    fields: Mapping[str, Any]
    notes: tuple[Note, ...] = ()
    conversation: Conversation | None = None
    budget: Mapping[str, Any] | None = None

    @property
    def source(self) -> str:
        return f"group {self.folder}"


class GroupFiles(NamedTuple):
    """Directories that are copied: of the installation, and of the agents here; None where the settings name none."""

    source: Path | None = None
    target: Path | None = None


class GroupOutcome(NamedTuple):
    """What became of one group. `messages` were written, `waiting` of them were not handled."""

    folder: str
    chat: str
    is_new: bool
    messages: int = 0
    waiting: int = 0
    has_session: bool = False
    files: CopiedFiles = CopiedFiles()
    notes: tuple[Note, ...] = ()


class GroupPlan(NamedTuple):
    """Groups that can be imported, each with the registered one if there is one, and those that cannot."""

    groups: tuple[tuple[GroupRequest, Group | None], ...] = ()
    rejected: tuple[RejectedItem, ...] = ()


def request_of_group(
    group: AgentGroup, zone: str | None = None, conversation: Conversation | None = None
) -> GroupRequest:
    """Return the request for a group of NanoClaw, with notes about what it does not have here."""
    notes: list[Note] = []
    config = group.config or {}
    timeout = _read_timeout(config.get("timeout"), notes)
    fields: dict[str, Any] = {
        "name": make_title(group.name, group.folder)[:KEY_CHARACTERS],
        "requires_trigger": group.requires_trigger,
        "is_main": group.is_main,
        "zone": zone,
        "trigger": group.trigger,
        "timeout": timeout,
        # A run may last as long as its timeout without output.
        "max_run": timeout if timeout is not None and timeout > AgentLimits().max_run else None,
        "mounts": tuple(_read_mounts(config.get("additionalMounts"), notes)),
    }
    if unknown := sorted(config.keys() - {"timeout", "additionalMounts"}):
        notes.append(note("nanoclaw_config", keys=", ".join(map(str, unknown))))
    chat = chat_address(group.jid) if conversation is None else conversation.chat
    if conversation is not None and not conversation.is_reachable:
        notes.append(note("nanoclaw_chat_unreachable", chat=chat, folder=group.folder))
    given = {name: value for name, value in fields.items() if value is not None}
    return GroupRequest(group.folder, chat, given, tuple(notes), conversation)


async def plan_groups(app: CommandSession, requests: Sequence[GroupRequest]) -> GroupPlan:
    """Compare the groups with those that are registered; nothing is written."""
    if not requests:
        return GroupPlan()
    known = {group.folder: group async for group in _all_groups(app)}
    folders = {group.chat: group.folder for group in known.values()}
    planned: list[tuple[GroupRequest, Group | None]] = []
    rejected: list[RejectedItem] = []
    for each in requests:
        try:
            _check(app, each, folders)
        except Refusal as refusal:
            rejected.append(RejectedItem(each.source, make_excerpt(each.chat), refusal_note(refusal)))
            continue
        registered = known.get(each.folder)
        request = each
        if registered is not None and registered.chat != each.chat:
            request = each._replace(notes=(*each.notes, note("nanoclaw_other_chat", chat=registered.chat)))
        folders[each.chat] = each.folder
        planned.append((request, registered))
    return GroupPlan(tuple(planned), tuple(rejected))


def _check(app: CommandSession, request: GroupRequest, folders: Mapping[str, str]) -> None:
    owner = folders.get(request.chat)
    if owner not in (None, request.folder):
        raise refuse("chat_taken", chat=request.chat, other=owner)
    fields = {name: value for name, value in request.fields.items() if name in Group._fields and value != ""}
    check_group(Group(request.folder, request.chat, request.folder, app.clock.now())._replace(**fields))


async def _all_groups(app: CommandSession) -> AsyncIterator[Group]:
    after: str | None = None
    while True:
        page = await app.service.groups.page(app.principal, after, MAX_PAGE_SIZE)
        for group in page.items:
            yield group
        after = page.after
        if after is None:
            return


async def import_groups(
    app: CommandSession, plan: GroupPlan, files: GroupFiles, *, dry_run: bool
) -> tuple[GroupOutcome, ...]:
    outcomes: list[GroupOutcome] = []
    for request, registered in plan.groups:
        try:
            outcomes.append(await _import_group(app, request, registered, files, dry_run=dry_run))
        except Refusal as refusal:
            # A group that is not complete stays stopped; the others go on.
            notes = (*request.notes, refusal_note(refusal))
            outcomes.append(GroupOutcome(request.folder, request.chat, registered is None, notes=notes))
    if outcomes and files.source is not None and files.target is not None:
        shared = copy_files(files.source / "groups" / "global", Workspace(files.target).shared, dry_run=dry_run)
        outcomes[0] = outcomes[0]._replace(files=outcomes[0].files + shared)
    return tuple(outcomes)


async def _import_group(
    app: CommandSession, request: GroupRequest, registered: Group | None, files: GroupFiles, *, dry_run: bool
) -> GroupOutcome:
    service, owner = app.service, f"group:{request.folder}"
    is_new = registered is None
    outcome = GroupOutcome(request.folder, request.chat, is_new, notes=request.notes)
    # An import that was interrupted leaves its group stopped, and otherwise as it made it.
    is_unfinished = registered is None or (registered.is_stopped and registered.version == 1)
    if is_new and not dry_run:
        await service.groups.add(app.principal, request.folder, request.chat, **{**request.fields, "is_stopped": True})
        if owner not in {lane.name for lane in await service.lanes.all(app.principal)}:
            await service.lanes.limit(app.principal, owner, 1)
    if is_unfinished and request.budget is not None and not dry_run:
        await service.budgets.put(app.principal, request.folder, request.budget)
    if request.conversation is not None:
        outcome = await _import_chat(app, request.conversation, outcome, dry_run=dry_run)
        if request.conversation.session is not None:
            has_session = await app.save_session(request.folder, owner, request.conversation.session, dry_run=dry_run)
            notes = () if has_session else (note("nanoclaw_session"),)
            outcome = outcome._replace(has_session=has_session, notes=(*outcome.notes, *notes))
    if files.source is not None and files.target is not None:
        outcome = outcome._replace(files=_copy(request.folder, files.source, Workspace(files.target), dry_run=dry_run))
    if is_unfinished and not dry_run and not request.fields.get("is_stopped", False):
        await service.groups.change(app.principal, request.folder, is_stopped=False)
    return outcome


async def _import_chat(
    app: CommandSession, conversation: Conversation, outcome: GroupOutcome, *, dry_run: bool
) -> GroupOutcome:
    """Append the messages of a chat, and register the reader behind the handled ones, unless that was done before."""
    owner, stream = f"group:{conversation.folder}", f"chat:{conversation.chat}"
    found = read_messages(conversation)
    notes = [*outcome.notes, *_message_notes(found)]
    state = await _stream_state(app, stream, owner)
    drafts = [_draft(each, conversation) for each in found.messages]
    if state is not None and any(each.reader == HANDLED_READER for each in state.cursors):
        return outcome._replace(notes=tuple(notes))
    if state is not None and state.stream.stored > 0 and not await _is_ours(app, state, drafts):
        return outcome._replace(notes=(*notes, note("nanoclaw_chat_in_use", stream=stream)))
    waiting = sum(not each.is_own for each in found.messages[found.handled :])
    result = outcome._replace(messages=len(drafts), waiting=waiting, notes=tuple(notes))
    if dry_run:
        return result
    numbers: list[int] = []
    for start in range(0, len(drafts), APPEND_MESSAGES):
        numbers += await app.service.streams.send(app.principal, stream, drafts[start : start + APPEND_MESSAGES], owner)
    if not drafts:
        await app.service.streams.put(app.principal, stream, owner)
    after = max(numbers[: found.handled], default=0)
    await app.service.streams.register(app.principal, stream, HANDLED_READER, owner, after=after)
    return result


def _message_notes(found: ChatMessages) -> Iterator[Note]:
    if found.older:
        yield note("nanoclaw_old_messages", count=found.older, most=len(found.messages))
    if found.unreadable:
        yield note("nanoclaw_bad_messages", count=found.unreadable)


async def _stream_state(app: CommandSession, stream: str, owner: str) -> StreamState | None:
    try:
        return await app.service.streams.get(app.principal, stream, owner)
    except NotFound:
        return None


async def _is_ours(app: CommandSession, state: StreamState, drafts: Sequence[MessageDraft]) -> bool:
    """Whether the oldest message of the stream is of this import, which was interrupted then."""
    stream = state.stream
    page = await app.service.streams.messages(
        app.principal, stream.name, owner=stream.owner, after=stream.first - 1, limit=1
    )
    identities = {(draft.source, draft.id) for draft in drafts}
    return all(each.message.identity in identities for each in page.messages)


def _draft(message: OldMessage, conversation: Conversation) -> MessageDraft:
    """Return the message as the intake of a channel would append it."""
    channel, _, chat = conversation.chat.partition(":")
    facts: dict[str, Any] = {
        "id": message.id,
        "sender_name": message.sender_name,
        "sent": message.sent.isoformat(),
        "from_me": message.from_me or None,
        "quoted": None if message.quoted is None else list(message.quoted),
    }
    return MessageDraft(
        message.text,
        message.sender,
        # Telegram counts its messages for each chat: its channel identifies a message by both.
        f"{chat}:{message.id}" if channel == _TELEGRAM and not message.is_own else message.id,
        ASSISTANT_SOURCE if message.is_own else channel,
        [{name: value for name, value in facts.items() if value is not None}],
    )


def _copy(folder: str, source: Path, workspace: Workspace, *, dry_run: bool) -> CopiedFiles:
    group = copy_files(source / "groups" / folder, workspace.group(folder), skipped=(_LOGS,), dry_run=dry_run)
    return group + copy_files(source / "data" / "sessions" / folder, workspace.sessions(folder), dry_run=dry_run)


def _read_timeout(value: object, notes: list[Note]) -> timedelta | None:
    try:
        timeout = read_duration("timeout", value)
    except Refusal:
        timeout = timedelta(0)
    if timeout is not None and not _SECOND <= timeout <= MAX_AGENT_TIME:
        notes.append(note("nanoclaw_timeout", value=value))
        return None
    return timeout


def _read_mounts(value: object, notes: list[Note]) -> Iterator[GroupMount]:
    """Yield the mounts; a mount that cannot be one here is named in a note. The operator's list decides at each start."""
    names: set[str] = set()
    for each in value if isinstance(value, list) else ():
        path = each.get("hostPath") if isinstance(each, dict) else None
        mount = _read_mount(path, each) if isinstance(path, str) else None
        if mount is None or mount.name in names or len(names) == MAX_MOUNTS:
            notes.append(note("nanoclaw_mount", mount=json.dumps(each, ensure_ascii=False)))
            continue
        names.add(mount.name)
        yield mount


def _read_mount(path: str, config: Mapping[str, Any]) -> GroupMount | None:
    try:
        host = str(Path(path).expanduser())
    except RuntimeError:
        return None
    name = config.get("containerPath") or host.rstrip("/").rpartition("/")[2]
    mount = GroupMount(host, name, config.get("readonly") is False)
    group = Group("x", "x:x", "x", EPOCH)
    try:
        check_group(group._replace(mounts=(mount,)))
    except Refusal:
        return None
    return mount


# --- lists of the operator -----------------------------------------------------------------------------------------


def import_lists(files: GroupFiles, requests: Sequence[GroupRequest], *, dry_run: bool) -> tuple[Note, ...]:
    """Copy NanoClaw's lists of senders and mounts to where Horae reads them; a list that exists is not replaced."""
    if files.source is None:
        return ()
    if files.target is None:
        return (note("nanoclaw_files"),)
    lists = Path.home() / ".config" / "nanoclaw"
    chats = {each.conversation.jid: each.chat for each in requests if each.conversation is not None}
    senders = _import_list(
        lists / SENDER_LIST, files.target, lambda value: _rename_chats(value, chats), dry_run=dry_run
    )
    mounts = _import_list(lists / MOUNT_LIST, files.target, lambda value: value, dry_run=dry_run)
    return (*senders, *mounts)


def _import_list(source: Path, directory: Path, convert: Callable[[Any], Any], *, dry_run: bool) -> tuple[Note, ...]:
    target = directory / source.name
    if not source.is_file():
        return ()
    if target.exists() or target.is_symlink():
        return (note("nanoclaw_list_kept", source=source, target=target),)
    try:
        text = json.dumps(convert(read_json(read_bytes(source))), ensure_ascii=False, indent=2)
        if not dry_run:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text + "\n")
    except (Refusal, SenderListError, OSError) as error:
        return (note("nanoclaw_list_bad", source=source, problem=str(error)),)
    return (note("nanoclaw_list_copied", source=source, target=target),)


def _rename_chats(value: Any, chats: Mapping[str, str]) -> Any:
    """Return the list of senders with the addresses of chats as they are here; refuses what is no such list."""
    read_sender_list(value)
    named = {chats.get(jid, chat_address(jid)): rule for jid, rule in value.get("chats", {}).items()}
    return {**value, **({"chats": named} if named else {})}
