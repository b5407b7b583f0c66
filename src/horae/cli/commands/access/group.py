"""`horae group`: registers chats with their agents, lists, shows, changes, stops, starts and removes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from ....model.agents.group import DEFAULT_TRIGGER
from ....state_names import state_name
from ...command import CommandGroup
from ...messages import group_messages as words
from ...messages.account_refusals import refuse
from ...output.formats import NOTHING, full_time
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...output.table import Fit
from ...parameters import INTEGER, after_option, limit_option, typed_limit
from .group_budget import budget_option, show_budget

if TYPE_CHECKING:
    from datetime import timedelta

    from ....model.agents.group import Group
    from ....model.page import Page
    from ....service.groups.budgets import BudgetState
    from ....service.groups.groups import GroupStatus, UnregisteredChat
    from ...session.command_session import CommandSession

_FITS: Final = (Fit(wrap=12), Fit(3, cut=12), Fit(1, cut=16), Fit(2), Fit(2), Fit())
_UNREGISTERED_FITS: Final = (Fit(wrap=16), Fit(1, cut=16), Fit())
_LABEL: Final = 9
_NONE: Final = "none"
_folder_argument: Final = click.argument("folder", metavar="FOLDER", help="Folder of the group: A-Z a-z 0-9 _ -")


def _field_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option("--name", help="Name of the group. Default: its folder."),
            click.option(
                "--trigger", metavar="@NAME", help=f"Word that a message begins with. Default: {DEFAULT_TRIGGER}."
            ),
            click.option(
                "--requires-trigger/--no-trigger",
                default=None,
                help="Whether only messages with the trigger are answered.",
            ),
            click.option(
                "--main/--no-main", "is_main", default=None, help="Its agent manages the tasks of all groups."
            ),
            click.option("--zone", "--tz", help="Zone of its schedules and times; '' for none."),
            click.option("--timeout", metavar="30m", help="Longest time without output of its agent."),
            click.option("--idle", metavar="30m", help="Time without a message after which its agent ends."),
            click.option("--max-run", metavar="4h", help="Longest time of a run of its agent; nothing extends it."),
            click.option("--memory", "memory_megabytes", type=INTEGER, metavar="MB", help="Memory of its agent."),
            click.option("--processes", type=INTEGER, help="Largest number of processes of its agent."),
            click.option("--processors", type=float, help="Processor share of its agent; 0.5 is half of one."),
            click.option(
                "--mount",
                "mounts",
                multiple=True,
                metavar="/PATH:NAME[:rw]",
                help="Directory that its agent sees; repeatable, 'none' removes all.",
            ),
            click.option("--node", help="Its agent runs on this node only; '' for any."),
        )
    ):
        command = option(command)
    return command


group_commands: Final = CommandGroup("group", help="Register chats, each with an agent; change, stop or remove them.")


@group_commands.command("add")
@_folder_argument
@click.argument("chat", metavar="CHANNEL:ID", help="Address of the chat, for example telegram:-100123.")
@_field_options
def add(out: Printer, *, folder: str, chat: str, **fields: Any) -> None:
    """Register a chat as a group; it becomes an owner of tasks."""
    from ...session.command_session import run_in_session  # noqa: PLC0415 - `--help` does without

    given = _given(fields)

    async def work(app: CommandSession) -> tuple[GroupStatus, str]:
        await app.service.groups.add(app.principal, folder, chat, **given)
        return await app.service.groups.status(app.principal, folder), app.zone

    status, zone = run_in_session(out, work, create=True)
    _show_saved(out, status, zone, out.translate(words.GROUP_ADDED, folder=folder, chat=status.group.chat))


@group_commands.command("ls")
@limit_option
@after_option
def ls(out: Printer, *, limit: int, after: str | None) -> None:
    """List groups."""
    from ....model.page import Page  # noqa: PLC0415
    from ....wire.groups import group_json  # noqa: PLC0415
    from ...output.command_hints import note_next_page  # noqa: PLC0415
    from ...session.command_session import has_store, run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> Page[Group]:
        return await app.service.groups.page(app.principal, after, limit)

    page = run_in_session(out, work) if has_store(out) else Page[Any](())
    if out.json:
        out.data([group_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.folder for each in page.items])
    elif page.items:
        out.table(out.translate(words.GROUP_TITLES).split("|"), [_row(out, each) for each in page.items], _FITS)
    if not page.items:
        out.note(words.NO_GROUPS)
        out.note(words.SEE_UNREGISTERED)
    if page.after is not None:
        note_next_page(out, "group ls", {"--limit": typed_limit(limit)}, page.after)


@group_commands.command("unregistered")
def unregistered(out: Printer) -> None:
    """List chats that have written and have no group."""
    from ....wire.groups import registration_command, unregistered_json  # noqa: PLC0415
    from ...output.command_hints import command_line  # noqa: PLC0415
    from ...session.command_session import has_store, run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[tuple[UnregisteredChat, ...], str]:
        return await app.service.groups.unregistered(app.principal), app.zone

    chats, zone = run_in_session(out, work) if has_store(out) else ((), "UTC")
    if out.json:
        out.data([unregistered_json(each) for each in chats])
    elif out.quiet:
        out.ids([each.chat for each in chats])
    elif chats:
        rows: list[list[Cell]] = [
            [each.chat, each.name, full_time(each.last_activity, zone, out.language)] for each in chats
        ]
        out.table(out.translate(words.UNREGISTERED_TITLES).split("|"), rows, _UNREGISTERED_FITS)
    if chats:
        _, *command = registration_command(chats[0])
        out.note(words.REGISTER_CHAT, command=command_line(out, *command))
    else:
        out.note(words.NO_UNREGISTERED)


@group_commands.command("show")
@_folder_argument
def show(out: Printer, *, folder: str) -> None:
    """Show one group: its settings, its agent and its messages."""
    from ....wire.groups import group_status_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[GroupStatus, BudgetState, str]:
        budget = await app.service.budgets.get(app.principal, folder)
        return await app.service.groups.status(app.principal, folder), budget, app.zone

    status, budget, zone = run_in_session(out, work)
    if out.json:
        out.data(group_status_json(status, out.language))
    elif out.quiet:
        out.ids([status.group.folder])
    else:
        _show(out, status, zone)
        show_budget(out, partial(out.row, width=_LABEL), budget, zone)


@group_commands.command("budget")
@_folder_argument
def budget(out: Printer, *, folder: str) -> None:
    """Show what a group has used of its budget today."""
    from ....wire.agent_safety import budget_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[BudgetState, str]:
        return await app.service.budgets.get(app.principal, folder), app.zone

    state, zone = run_in_session(out, work)
    if out.json:
        out.data(budget_json(state))
    elif out.quiet:
        out.ids([state.folder])
    elif not show_budget(out, partial(out.row, width=_LABEL), state, zone):
        out.note(words.NO_BUDGET, folder=folder)


@group_commands.command("set")
@_folder_argument
@click.option("--chat", metavar="CHANNEL:ID", help="Another chat for the group.")
@_field_options
@budget_option
def set_fields(out: Printer, *, folder: str, chat: str | None, budget: tuple[str, ...], **fields: Any) -> None:
    """Change the given settings of a group."""
    from ....model.agents.budget import parse_budget  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    given, limits = _given({**fields, "chat": chat}), parse_budget(budget)
    if not given and not limits:
        raise refuse("no_group_setting", folder=folder)

    async def work(app: CommandSession) -> tuple[GroupStatus, str]:
        if limits:
            await app.service.budgets.put(app.principal, folder, limits)
        if given:
            await app.service.groups.change(app.principal, folder, **given)
        return await app.service.groups.status(app.principal, folder), app.zone

    status, zone = run_in_session(out, work)
    _show_saved(out, status, zone, out.translate(words.GROUP_CHANGED, folder=folder))


@group_commands.command("rm", asks=True)
@_folder_argument
def remove(out: Printer, *, folder: str) -> None:
    """Remove a group; its files, messages and tasks stay, its tasks do not run."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    run_in_session(out, lambda app: app.service.groups.get(app.principal, folder))
    out.confirm(words.REMOVE_GROUP, folder=folder)
    run_in_session(out, lambda app: app.service.groups.remove(app.principal, folder))
    if out.json:
        out.data({"removed": folder})
    else:
        out.line(("✓ ", out.translate(words.GROUP_REMOVED, folder=folder)))


@group_commands.command("stop", asks=True)
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option("--all", "everything", is_flag=True, help="All groups.")
def stop(out: Printer, *, folder: str | None, everything: bool) -> None:
    """Stop a group, or all: no turn of it starts until it is started."""
    if everything and folder is None:
        out.confirm(words.STOP_GROUPS)
    _switch(out, folder, everything=everything, is_stopped=True)


@group_commands.command("start")
@click.argument("folder", required=False, metavar="[FOLDER]")
@click.option("--all", "everything", is_flag=True, help="All groups.")
def start(out: Printer, *, folder: str | None, everything: bool) -> None:
    """Start a group that was stopped, or all."""
    _switch(out, folder, everything=everything, is_stopped=False)


def _switch(out: Printer, folder: str | None, *, everything: bool, is_stopped: bool) -> None:
    from ....model.page import MAX_PAGE_SIZE  # noqa: PLC0415
    from ....wire.groups import group_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    if (folder is None) != everything:
        raise refuse("group_or_all")

    async def work(app: CommandSession) -> list[Group]:
        folders, after = [folder] if folder is not None else [], None
        while everything:
            page = await app.service.groups.page(app.principal, after, MAX_PAGE_SIZE)
            folders += [each.folder for each in page.items if each.is_stopped != is_stopped]
            after = page.after
            if after is None:
                break
        return [await app.service.groups.change(app.principal, each, is_stopped=is_stopped) for each in folders]

    changed = run_in_session(out, work)
    if out.json:
        out.data([group_json(each) for each in changed])
    elif out.quiet:
        out.ids([each.folder for each in changed])
    else:
        message = words.GROUP_STOPPED if is_stopped else words.GROUP_STARTED
        for each in changed:
            out.line(("✓ ", out.translate(message, folder=each.folder)))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that were typed, as the service takes them."""
    from ....service.tasks.task_request import read_duration  # noqa: PLC0415
    from ....wire.groups import parse_mount  # noqa: PLC0415

    given = {name: value for name, value in fields.items() if value is not None and value != ()}
    for name in ("timeout", "idle", "max_run"):
        if name in given:
            given[name] = read_duration(name, given[name])
    if "mounts" in given:
        given["mounts"] = [] if given["mounts"] == (_NONE,) else [parse_mount(each) for each in given["mounts"]]
    return given


def _show_saved(out: Printer, status: GroupStatus, zone: str, line: str) -> None:
    from ....wire.groups import group_status_json  # noqa: PLC0415

    if out.json:
        out.data(group_status_json(status, out.language))
    elif out.quiet:
        out.ids([status.group.folder])
    else:
        out.line(("✓ ", line))
        _show(out, status, zone)


def _row(out: Printer, group: Group) -> list[Cell]:
    name = (group.name, f" ({out.translate(words.MAIN)})") if group.is_main else group.name
    return [group.folder, name, group.chat, _trigger(out, group), group.zone or NOTHING, _state(out, group)]


def _trigger(out: Printer, group: Group) -> str:
    return group.trigger if group.needs_trigger else out.translate(words.EVERY_MESSAGE)


def _state(out: Printer, group: Group) -> StyledText:
    if group.is_stopped:
        return StyledText(out.translate(words.STATES["stopped"]), "odd")
    return StyledText(out.translate(words.STATES["ready"]))


def _show(out: Printer, status: GroupStatus, zone: str) -> None:
    from ....wire.groups import mount_text  # noqa: PLC0415
    from ...output.command_hints import command_line  # noqa: PLC0415

    group, limits = status.group, status.group.limits
    row = partial(out.row, width=_LABEL)
    suffix = f" ({out.translate(words.MAIN)})" if group.is_main else ""
    out.line((StyledText(group.folder, "bold"), suffix))
    row(out.translate(words.NAME), group.name)
    row(out.translate(words.CHAT), group.chat)
    row(out.translate(words.OWNER), group.owner)
    row(out.translate(words.TRIGGER), _trigger(out, group))
    row(out.translate(words.ZONE), group.zone or NOTHING)
    if group.node is not None:
        row(out.translate(words.NODE), group.node)
    text = out.translate(
        words.LIMITS_OF,
        timeout=_duration(limits.timeout),
        idle=_duration(limits.idle),
        max_run=_duration(limits.max_run),
        memory=limits.memory_megabytes,
        processes=limits.processes,
        processors=int(limits.processors) if limits.processors == int(limits.processors) else limits.processors,
    )
    row(out.translate(words.LIMITS), text)
    label = out.translate(words.MOUNTS)
    for mount in group.mounts:
        row(label, mount_text(mount))
        label = ""
    row(out.translate(words.STATE), _state(out, group))
    counts = out.translate(words.MESSAGE_COUNTS, messages=status.messages, waiting=status.waiting)
    row(out.translate(words.MESSAGES), counts)
    row(out.translate(words.AGENT), _live(out, status, zone))
    if status.last_turn is not None:
        at = status.last_turn.ended or status.last_turn.started or status.last_turn.planned
        said = state_name(status.last_turn.state.value, out.language)
        moment = full_time(at, zone, out.language)
        row(out.translate(words.LAST_TURN), out.translate(words.TURN_AT, state=said, at=moment))
    row(out.translate(words.TASKS), command_line(out, "ls", "--owner", group.owner))
    for warning in status.warnings:
        out.warn(warning.in_language(out.language))


def _live(out: Printer, status: GroupStatus, zone: str) -> str:
    live = status.live
    if live is None:
        return out.translate(words.NOT_LIVE)
    at = full_time(live.started or live.planned, zone, out.language)
    return out.translate(words.LIVE_SINCE, run=live.id, at=at)


def _duration(duration: timedelta) -> str:
    from ....schedule.durations import format_short_duration  # noqa: PLC0415

    return format_short_duration(duration)
