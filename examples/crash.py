"""kill -9 in the middle of a run: the next process finds it, runs it again with the same key, and the ledger tells."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from horae import Context, Horae

folder = Path(os.environ.get("HORAE_EXAMPLE") or tempfile.mkdtemp())
app = Horae(f"sqlite:///{folder}/crash.db")


@app.task
async def pay(ctx: Context, order: int) -> str:
    with (folder / "effects").open("a") as effects:
        effects.write(f"{order} {ctx.key}\n")
    if not (folder / "again").exists():
        (folder / "again").touch()
        os.kill(os.getpid(), signal.SIGKILL)  # the worst moment: done, and not recorded
    return f"order {order} paid"


async def first_process() -> None:
    async with app:
        task = await app.schedule(pay, "now", {"order": 7}, key="order-7")
        await task.wait()


async def second_process() -> None:
    async with app:
        task = await app.get("order-7")
        run = await task.wait("30s")
        print(run.state, run.result)
        for each in reversed(await task.runs()):
            print("attempt", each.attempt, each.state, each.reason or "")
    keys = {line.split()[1] for line in (folder / "effects").read_text().splitlines()}
    print("idempotency keys seen by the effect:", len(keys))


if __name__ == "__main__":
    if "HORAE_EXAMPLE" in os.environ:
        asyncio.run(first_process())
    else:
        died = subprocess.run([sys.executable, __file__], env={**os.environ, "HORAE_EXAMPLE": str(folder)}, check=False)
        print("the first process died of signal", -died.returncode)
        asyncio.run(second_process())
