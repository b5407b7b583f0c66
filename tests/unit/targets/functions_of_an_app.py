"""Functions declared with the decorator of an app, importable by child processes."""

from __future__ import annotations

from datetime import date

from horae import Context, Horae

app = Horae("memory://")


@app.task(name="it", isolate="process")
async def count_days(since: date, run: Context) -> list[object]:
    return [(run.planned.date() - since).days, run.attempt]
