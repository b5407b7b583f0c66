"""`horae move --owner`: moves one owner between two running deployments, step by step, resumable."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ..messages import move_messages as words
from ..output.printer import Printer
from ..session.interruptible import run_interruptible
from .mapped_move import MapLine
from .move import open_named_store

if TYPE_CHECKING:
    from ...settings import Settings
    from ...transfer.owner import OwnerMover, OwnerMoveResult, OwnerMoveStep


class OwnerMoveRequest(NamedTuple):
    """`place` is the new address that callers are given, `key_file` that of the target if it has another one, `line` what to
    write into the map of deployments afterwards."""

    owner: str
    place: str | None
    wait: str
    key_file: str | None
    abort: bool
    dry_run: bool
    line: MapLine | None = None


def move_owner(out: Printer, request: OwnerMoveRequest, from_settings: Settings, to_settings: Settings) -> None:
    from ...service.tasks.task_request import read_duration  # noqa: PLC0415 - `--help` does without

    patience = read_duration("wait", request.wait)
    result = run_interruptible(_move(out, request, from_settings, to_settings, patience))
    _show(out, request, *result)


async def _move(
    out: Printer, request: OwnerMoveRequest, from_settings: Settings, to_settings: Settings, patience: timedelta
) -> tuple[str, str, OwnerMoveResult]:
    from ...clock import SystemClock  # noqa: PLC0415
    from ...runtime.process_settings import store_url  # noqa: PLC0415
    from ...runtime.service_factory import cipher_for_store  # noqa: PLC0415
    from ...runtime.stores import make_wakeup  # noqa: PLC0415
    from ...transfer.owner import Deployment, OwnerMover  # noqa: PLC0415

    named_key = from_settings.value("key_file")
    sides = ((from_settings, named_key), (to_settings, request.key_file or named_key))
    async with AsyncExitStack() as stack:
        deployments: list[Deployment] = []
        for settings, key_file in sides:
            url = store_url(settings)
            opened = await stack.enter_async_context(open_named_store(url))
            deployments.append(Deployment(opened.name, opened.store, cipher_for_store(url, key_file)))
        source, target = deployments

        def on_step(step: OwnerMoveStep) -> None:
            if not out.json:
                out.note(words.OWNER_STEPS[step.value], owner=request.owner)

        mover = OwnerMover(
            source,
            target,
            request.owner,
            SystemClock(),
            place=request.place,
            patience=patience,
            on_step=on_step,
        )
        result = await _work(mover, request)
        if not request.dry_run:
            # Nodes on the other side need not wait for their next look at the agenda.
            notifier = make_wakeup(store_url(from_settings if request.abort else to_settings), precise=True)
            notifier.notify()
            await notifier.finish()
        return source.name, target.name, result


async def _work(mover: OwnerMover, request: OwnerMoveRequest) -> OwnerMoveResult:
    from ...transfer.owner import OwnerMoveResult  # noqa: PLC0415

    if request.dry_run:
        return OwnerMoveResult({}, resumed=await mover.check() is not None)
    if request.abort:
        await mover.abort()
        return OwnerMoveResult({}, resumed=True)
    return await mover.move()


def _show(out: Printer, request: OwnerMoveRequest, source: str, target: str, result: OwnerMoveResult) -> None:
    if out.json:
        out.data(_shape(request, source, target, result))
        return
    if result.parts:
        titles = [out.translate(each) for each in (words.PART, words.NUMBER, words.DIGEST)]
        out.table(
            titles,
            [[part.value, f"{digest.item_count}", digest.hex_digest] for part, digest in result.parts.items()],
        )
    names = {"owner": request.owner, "source": source, "target": target}
    if request.dry_run:
        out.note(words.WOULD_MOVE_OWNER, **names)
    elif request.abort:
        out.note(words.OWNER_STAYS, **names)
    else:
        out.note(words.OWNER_MOVED_BEFORE if result.moved_before else words.OWNER_MOVED, **names)
        if request.line is not None:
            out.note(words.CHANGE_THE_MAP, **request.line._asdict())


def _shape(request: OwnerMoveRequest, source: str, target: str, result: OwnerMoveResult) -> dict[str, Any]:
    return {
        "from": source,
        "to": target,
        "owner": request.owner,
        "dry_run": request.dry_run,
        "resumed": result.resumed and not result.moved_before,
        "moved_before": result.moved_before,
        "given_up": request.abort,
        "map_line": None if request.line is None or request.abort else request.line.text,
        "parts": [
            {"part": part.value, "number": digest.item_count, "digest": digest.hex_digest}
            for part, digest in result.parts.items()
        ],
        "key_file": None,
        "key_file_wanted": None,
    }
