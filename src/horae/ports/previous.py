"""Results of the predecessors of a chained run, as JSON for its target, within one size limit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..model.limits import PREVIOUS_BYTES, SUMMARY_CHARACTERS, shorten
from ..model.run import Run
from .store import Book

NO_PREVIOUS: Final = "[]"


async def load_previous(store: Book, run: Run) -> str:
    """Return the predecessors whose end started this run; one that retention has removed is left out."""
    parents = () if run.chain is None else run.chain.parents
    found = [parent for each in parents if (parent := await store.run(each, run.owner)) is not None]
    names = await store.task_names([parent.task_id for parent in found], run.owner) if found else {}
    return render_previous(found, names)


def render_previous(runs: Sequence[Run], names: Mapping[str, str]) -> str:
    """Return name, run id, state and result of each run; long results are cut to text, with the mark `cut`."""
    items = [_describe(run, names.get(run.task_id, "")) for run in runs]
    text = _dump(items)
    share = PREVIOUS_BYTES // max(1, len(items))
    while len(text.encode()) > PREVIOUS_BYTES:
        share //= 2
        text = _dump([_cut(item, share) for item in items])
    return text


def _describe(run: Run, name: str) -> dict[str, Any]:
    error = None if run.error is None else shorten(run.error, SUMMARY_CHARACTERS)
    return {"name": name, "run": run.id, "state": run.state.value, "result": run.result, "error": error}


def _cut(item: Mapping[str, Any], share: int) -> dict[str, Any]:
    encoded = _dump(item["result"]).encode()
    if len(encoded) <= share:
        return dict(item)
    return {**item, "result": encoded[:share].decode(errors="ignore"), "cut": True}


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
