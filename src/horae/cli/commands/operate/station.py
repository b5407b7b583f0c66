"""`horae station`: allows and removes keys of stations, lists who has joined, shows keys, and runs stations of a module."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ....message import Message
from ....model.page import Page
from ....model.stations.station import Station, StationKind
from ....service.stations.stations import StationStatus
from ....wire.stations import station_json
from ...command import CommandGroup
from ...messages import station_messages as words
from ...output.command_hints import note_next_page
from ...output.formats import NOTHING, full_time
from ...output.printer import Printer
from ...output.styled_text import Cell
from ...output.table import Fit
from ...parameters import NumberRange, after_option, limit_option, typed_limit
from ...session.command_session import CommandSession, has_store, run_in_session

if TYPE_CHECKING:
    from ....stations import Station as StationProgram

_FITS: Final = (Fit(), Fit(1), Fit(3), Fit(1, wrap=12), Fit(2), Fit(4))
_name_argument: Final = click.argument("name", metavar="NAME", help="Name of the station.")
_owner_option: Final = click.option("--owner", help="Owner of the station. Default: you.")

station_commands: Final = CommandGroup("station", help="Let programs join over ZeroMQ, and see who has joined.")


def _say(out: Printer, sentence: Message, **facts: object) -> None:
    out.line(("✓ ", out.translate(sentence, **facts)), flush=True)


@station_commands.command("allow")
@_name_argument
@click.option("--key", required=True, help="Public key of the station: horae station key --station NAME prints it.")
@click.option(
    "--kind", type=click.Choice([each.value for each in StationKind]), help="Kind of the station. Default: api."
)
@click.option("--worker", metavar="NAME", help="Only this worker may use the key; a voter needs it.")
@_owner_option
def allow(out: Printer, *, name: str, key: str, kind: str | None, worker: str | None, owner: str | None) -> None:
    """Allow a key to join as a station."""

    async def work(app: CommandSession) -> StationStatus:
        stations = app.service.stations
        made = await stations.allow(app.principal, name, key, kind=kind, worker=worker, owner=owner)
        return StationStatus(made, ())

    status = run_in_session(out, work, create=True)
    if out.json:
        out.data(station_json(status))
    elif out.quiet:
        out.ids([name])
    else:
        _say(out, words.ALLOWED, key=key, name=name)


@station_commands.command("rm")
@_name_argument
@click.option("--key", help="Remove this key only.")
@_owner_option
def remove(out: Printer, *, name: str, key: str | None, owner: str | None) -> None:
    """Remove a station, or one of its keys; connections with the keys end."""

    async def work(app: CommandSession) -> Station | None:
        return await app.service.stations.remove(app.principal, name, key, owner)

    left = run_in_session(out, work)
    if out.json:
        out.data({"removed": name if left is None or key is None else key})
    elif left is None:
        _say(out, words.STATION_REMOVED, name=name)
    else:
        _say(out, words.KEY_REMOVED, key=key or "", name=name)


@station_commands.command("ls")
@limit_option
@after_option
def ls(out: Printer, *, limit: int, after: str | None) -> None:
    """List stations: who has joined, how many calls they execute, and their last answers."""

    async def work(app: CommandSession) -> tuple[Page[StationStatus], str]:
        return await app.service.stations.page(app.principal, after, limit), app.zone

    page, zone = run_in_session(out, work) if has_store(out) else (Page[StationStatus](()), "UTC")
    if out.json:
        out.data([station_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.station.name for each in page.items])
    elif page.items:
        out.table(out.translate(words.STATION_TITLES).split("|"), [_row(out, each, zone) for each in page.items], _FITS)
    if not page.items:
        out.note(words.NO_STATIONS)
    if page.after is not None:
        note_next_page(out, "station ls", {"--limit": typed_limit(limit)}, page.after)


def _row(out: Printer, status: StationStatus, zone: str) -> list[Cell]:
    workers = [worker for presence in status.presences for worker in presence.workers]
    waiting = sum(presence.waiting for presence in status.presences)
    answers = [each.last_answer for each in workers if each.last_answer is not None]
    calls = f"{sum(each.calls for each in workers)}/{sum(each.slots for each in workers)}"
    newest = max(answers, default=None)
    last = NOTHING if newest is None else full_time(newest, zone, out.language, column=True)
    names = ", ".join(sorted(each.name for each in workers)) or NOTHING
    return [
        status.station.name,
        status.station.kind.value,
        str(len(status.station.keys)),
        names,
        f"{calls} +{waiting}" if waiting else calls,
        last,
    ]


@station_commands.command("key", local_only=True)
@click.option(
    "--station", metavar="NAME", help="The key of this station, made if there is none. Default: that of the node."
)
def key(out: Printer, *, station: str | None) -> None:
    """Show a public key: of the node here, or of a station."""
    from ....stations.keys import load_or_make_keys  # noqa: PLC0415 - `--help` does without

    if station is not None:
        from ....stations.station import default_key_path  # noqa: PLC0415

        public = load_or_make_keys(default_key_path(station)).public
        sentence = words.STATION_KEY
    else:
        public = load_or_make_keys(_server_key_path(out)).public
        sentence = words.SERVER_KEY
    if out.json:
        out.data({"key": public, "station": station})
    elif out.quiet:
        out.ids([public])
    else:
        _say(out, sentence, name=station or "", key=public)
        if station is not None:
            out.note(words.ALLOW_HINT, name=station, key=public)


def _server_key_path(out: Printer) -> Path:
    from ....runtime.agents.runtime import STATION, station_key_path  # noqa: PLC0415 - `--help` does without
    from ...session.open_store import prepare_url  # noqa: PLC0415

    return station_key_path(out.settings.target(STATION), prepare_url(out.settings, create=True) or "")


@station_commands.command("run", local_only=True)
@click.argument("place", metavar="FILE.py | MODULE", help="Module or file that declares the stations.")
@click.option(
    "--worker", metavar="NAME", help="Name of this process within its stations. Default: machine and process."
)
@click.option("--seconds", type=NumberRange(0.1), help="End after this number of seconds.")
def run(out: Printer, *, place: str, worker: str | None, seconds: float | None) -> None:
    """Run all stations of a module here, until Ctrl-C."""
    from ....stations import Station as StationProgram  # noqa: PLC0415 - `--help` does without
    from ....stations.refusals import refuse  # noqa: PLC0415
    from ...app_loader import load_module  # noqa: PLC0415

    module = load_module(place)
    found = list(dict.fromkeys(each for each in vars(module).values() if isinstance(each, StationProgram)))
    if not found:
        raise refuse("no_station_in_module", path=place)
    for each in found:
        if worker is not None:
            each.worker = worker
    asyncio.run(_run(out, found, seconds))
    if not (out.json or out.quiet):
        _say(out, words.LEFT)


async def _run(out: Printer, stations: list[StationProgram], seconds: float | None) -> None:
    from ....node.worker import stop_event  # noqa: PLC0415 - `--help` does without
    from ....stations.station import run_stations  # noqa: PLC0415

    def on_joined(station: StationProgram) -> None:
        if out.json:
            out.each({"station": station.name, "worker": station.worker})
        else:
            _say(out, words.JOINED, name=station.name, worker=station.worker)

    stop = stop_event(force=True)
    if seconds is not None:
        asyncio.get_running_loop().call_later(seconds, stop.set)
    await run_stations(stations, stop, on_joined)
