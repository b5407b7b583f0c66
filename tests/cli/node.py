"""Node process of the command line tests: a few functions, until its standard input ends."""

from __future__ import annotations

import asyncio
import sys

from horae import Context, Horae

app = Horae(sys.argv[1] if len(sys.argv) > 1 else "memory://")


@app.task(name="embed")
async def embed(ctx: Context) -> str:
    for done in range(1, 5):
        ctx.progress(done / 4, f"batch {done}")
        ctx.log.info("batch %d ok", done)
    return "done"


@app.task(name="broken")
def broken() -> None:
    raise ValueError("disk full")


@app.task(name="check_mail")
def check_mail(answer: str = "open") -> dict[str, object]:
    if answer == "broken":
        raise ValueError("no connection")
    return {"run": answer == "open", "data": ["mail"], "state": {"last": 7}, "reason": "邮件"}


@app.task(name="answer_mail")
def answer_mail(answer: str = "open") -> None:
    raise ValueError(f"the target was called: {answer}")


@app.task(name="endless")
async def endless() -> None:
    await asyncio.Event().wait()


async def main() -> None:
    async with app:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
