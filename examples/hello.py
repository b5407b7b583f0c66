"""A durable task: it is on the disk before `schedule` returns, it runs at its instant, and it can say why."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from horae import Context, Horae, Retry

folder = Path(tempfile.mkdtemp())
app = Horae(f"sqlite:///{folder}/hello.db")


@app.task
async def greet(ctx: Context, who: str) -> str:
    if ctx.attempt == 1:
        raise Retry(after=0.1)
    ctx.log.info("attempt %d, the same key: %s", ctx.attempt, ctx.key[:4])
    return f"hello {who}"


async def main() -> None:
    async with app:
        task = await app.schedule(greet, "in 1s", {"who": "world"})
        run = await task.wait(timeout="30s")
        print(run.state, run.result)
        for each in reversed(await task.runs()):
            print("attempt", each.attempt, each.state, each.reason or "")
        print((await app.why(task, run.planned)).verdict)


if __name__ == "__main__":
    asyncio.run(main())
