"""Names of deployments in `horae move --owner`: their stores, the place that callers are told, and the line of the map that
has to change afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..output.printer import Printer

if TYPE_CHECKING:
    from ...router.deployment_map import DeploymentMap


class MapLine(NamedTuple):
    """Line of `[owners]` that says where an owner lives, and the file that holds the map."""

    text: str
    file: str


class MappedMove(NamedTuple):
    """Stores of both sides. `place` is what callers are told, `line` what to write into the map; None: nothing."""

    source: str
    target: str
    place: str | None = None
    line: MapLine | None = None


def resolve_names(out: Printer, source: str, target: str, owner: str) -> MappedMove:
    """Replace names of deployments by their stores; addresses of stores stay as they are."""
    if "://" in source and "://" in target:
        return MappedMove(source, target)
    from ...router.deployment_map import read_deployment_map  # noqa: PLC0415 - only where names are used

    found = read_deployment_map(out.settings, plain_http=True)
    source_store, target_store = (each if "://" in each else _store_of(found, each) for each in (source, target))
    if "://" in target:
        return MappedMove(source_store, target_store)
    place, line = found.find(target).url, _line_of(out, found, owner, target)
    return MappedMove(source_store, target_store, place, line)


def _store_of(found: DeploymentMap, name: str) -> str:
    from ...router.refusals import refuse  # noqa: PLC0415

    store = found.find(name).store
    if store is None:
        raise refuse("deployment_without_store", name=name)
    return store


def _line_of(out: Printer, found: DeploymentMap, owner: str, target: str) -> MapLine | None:
    """Return the line that the map needs; None where it already says so."""
    if found.deployment_of(owner).name == target:
        return None
    known = out.settings.overrides.get(f"owners.{owner}") or out.settings.overrides["owners.*"]
    return MapLine(f'"{owner}" = "{target}"', known.origin)
