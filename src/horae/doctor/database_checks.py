"""Checks of a store on a database server: version, durability, TLS and clock offsets, and sentences about such a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from ..errors import Refusal, StoreError
from ..message import Message
from ..ports.doctor import Check, Fix, fill_message, make_check, refusal_check
from ..ports.node_records import ClockStep
from ..ports.store import Node
from ..quantities import duration_message, exact_duration, in_bytes
from ..stores.sql.features import CONSEQUENCES, MissingFeature
from ..stores.sql.reads.status import PossibleLoss, ServerStatus, Successors
from . import messages as words

NOTEWORTHY: Final = timedelta(seconds=1)
"""Smaller clock offsets are not shown, since nodes correct their clock to the server's."""


def server_location(server: ServerStatus) -> Message:
    """Return server, database, and schema or table prefix; never its password."""
    namespace = fill_message(words.KEPT_IN[server.namespace_kind], named=server.namespace)
    facts = {"kind": server.kind, "version": server.version, "place": server.address, "database": server.database}
    return fill_message(words.ON_SERVER, **facts, kept=namespace)


def clock_offset_message(offset: timedelta) -> Message:
    return fill_message(words.CLOCK_OFF[offset > timedelta(0)], by=duration_message(exact_duration(abs(offset))))


def step_facts(step: ClockStep) -> dict[str, str]:
    """Return the facts for the sentence about a clock that was set back."""
    at = f"{step.at:%Y-%m-%d %H:%M:%S} UTC"
    return {"host": step.host or "?", "by": f"{step.by.total_seconds():g} s", "at": at}


def check_features(missing: Sequence[MissingFeature]) -> list[Check]:
    """Return a check for each feature that the server lacks, or one that it has all that the store uses."""
    if not missing:
        return [make_check("features", "ok", words.FEATURES_FINE)]
    return [
        make_check(
            "features",
            "error" if each.is_required else "warning",
            words.FEATURE_MISSING,
            words.FEATURE_FIX[each.is_required],
            problem=CONSEQUENCES[each.feature],
            answer=each.problem,
        )
        for each in missing
    ]


def check_encryption(host: str, option: str) -> Check:
    """Warn about a server on another machine whose URL requires no TLS; `option` of the URL would require it."""
    fix = Fix(fill_message(words.PLAIN_FIX, option=option))
    return make_check("encryption", "warning", words.PLAIN_CONNECTION, fix, host=host)


def check_database_server(server: ServerStatus, tolerance: timedelta) -> Iterator[Check]:
    """Yield the checks of the server before the store is opened, since opening it creates or migrates tables."""
    if server.schema == 0:
        yield make_check("store", "warning", words.NO_TABLES, words.NO_STORE_FIX, where=server_location(server))
    else:
        facts: dict[str, Any] = {
            "where": server_location(server),
            "schema": server.schema,
            "size": in_bytes(server.size),
        }
        yield make_check("store", "ok", words.SERVER_FINE, **facts)
    yield _check_durability(server)
    if server.successors is not None:
        yield _check_failover(server, server.successors)
    yield _check_offset(server.clock_offset, tolerance)
    if server.plan_layout:
        yield _check_plan_layout(server)
    if server.dump_command:
        yield make_check("backup", "ok", words.DUMPED, dump=server.dump_command)
    else:
        yield make_check("backup", "ok", words.COPIED)


def select_durability(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return the checks that say what the server of the store can lose; none for a file, which is always synced."""
    return tuple(check for check in checks if check.code in ("durability", "failover"))


def refused_store(error: StoreError, place: str) -> Check:
    """Return why the store cannot be opened, with the hint of its refusal."""
    if not isinstance(error, Refusal):
        return make_check("store", "error", words.NOT_A_STORE, words.SERVER_FIX, path=place, problem=error)
    return refusal_check("store", error)


def check_node_clocks(nodes: tuple[Node, ...], tolerance: timedelta) -> Iterator[Check]:
    """Yield a warning for nodes whose clock is off, although they correct it; an error beyond the tolerance."""
    off = [node for node in nodes if abs(node.offset) >= NOTEWORTHY]
    if off:
        names = ", ".join(sorted({node.host or node.id for node in off}))
        most = max(abs(node.offset) for node in off)
        facts: dict[str, Any] = {"names": names, "by": duration_message(exact_duration(most))}
        if most > tolerance:
            facts["tolerance"] = duration_message(exact_duration(tolerance))
            yield make_check("node_clocks", "error", words.NODE_CLOCKS_TOO_FAR, words.CLOCK_FIX, **facts)
        else:
            yield make_check("node_clocks", "warning", words.NODE_CLOCKS, words.CLOCK_FIX, **facts)


def _check_durability(server: ServerStatus) -> Check:
    """Return what it can lose by its own settings; what a failover can lose is a check of its own."""
    losses = [each for each in server.possible_losses if each is not PossibleLoss.FAILOVER]
    if not losses:
        return make_check("durability", "ok", words.DURABLE, settings=_list_settings(server))
    (loss,) = losses
    advice = words.DURABLE_FIX if loss is PossibleLoss.POWER_FAILURE else words.DURABLE_REDIS_FIX
    fix = Fix(fill_message(advice, names=", ".join(server.unsafe_settings)))
    return make_check("durability", "warning", words.LOSSES[loss], fix, settings=_list_settings(server))


def _check_failover(server: ServerStatus, successors: Successors) -> Check:
    if PossibleLoss.FAILOVER not in server.possible_losses:
        return make_check("failover", "ok", words.FAILOVER_KEEPS, count=successors.awaited)
    message, fix = words.LOSSES[PossibleLoss.FAILOVER], words.FAILOVER_FIXES[successors.kind]
    return make_check("failover", "warning", message, fix, settings=_list_settings(server))


def _list_settings(server: ServerStatus) -> str:
    return ", ".join(f"{name} {value}" for name, value in server.settings.items())


def _check_plan_layout(server: ServerStatus) -> Check:
    """Return whether plans are shown in the documented layout of Redis, and which of them cannot be used."""
    if server.plan_layout != "on":
        return make_check("plan_layout", "warning", words.PLAN_LAYOUT_OFF[server.plan_layout], words.PLAN_LAYOUT_FIX)
    quarantined = server.quarantined_plans
    if not quarantined:
        return make_check("plan_layout", "ok", words.PLAN_LAYOUT_ON)
    reasons = next(iter(quarantined.values()))
    reason = Message(reasons.get("en", ""), reasons.get("zh", ""))
    return make_check(
        "plan_layout",
        "warning",
        words.PLANS_QUARANTINED,
        words.QUARANTINE_FIX,
        count=len(quarantined),
        reason=reason,
    )


def _check_offset(offset: timedelta, tolerance: timedelta) -> Check:
    if abs(offset) < NOTEWORTHY:
        return make_check("clock_offset", "ok", words.CLOCKS_AGREE, by=duration_message(exact_duration(abs(offset))))
    if abs(offset) <= tolerance:
        return make_check(
            "clock_offset", "warning", words.CLOCK_IS_OFF, words.CLOCK_FIX, off=clock_offset_message(offset)
        )
    facts: dict[str, Any] = {
        "off": clock_offset_message(offset),
        "tolerance": duration_message(exact_duration(tolerance)),
    }
    return make_check("clock_offset", "error", words.CLOCK_TOO_FAR_OFF, words.CLOCK_FIX, **facts)
