"""Two processes with different functions on one file: each runs only its own, and no attempt is wasted."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from horae import Horae
from horae.lifecycle.explain.explanation import Verdict
from horae.model.run import RunState

TIMEOUT_SECONDS = 120
OTHER = """
import asyncio, sys
from horae import Horae

app = Horae(sys.argv[1])

@app.task(name="theirs")
async def theirs() -> str:
    return "from the other process"

async def main() -> None:
    async with app:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


def start_other(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OTHER, url]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


async def test_node_without_the_function_leaves_the_run_to_another_node(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    async with asyncio.timeout(TIMEOUT_SECONDS):
        here = Horae(url)
        here.task(name="ours")(lambda: "from here")
        async with here:
            # No running node declares the function yet: the task waits.
            with_both = Horae(url, engine=False)
            with_both.task(name="theirs")(lambda: None)
            async with with_both:
                early = await with_both.schedule("theirs", "now", guarantee="at_most_once")
            while (await here.store.waiting(None, here.clock.now())).stranded == 0:
                await here.clock.pause(0.02)
            why = await here.why(early.id)
            assert why.verdict is Verdict.WAITING
            assert "theirs" in why.english
            with start_other(url) as other:
                assert other.stdin is not None
                assert other.stdout is not None
                assert await asyncio.to_thread(other.stdout.readline) == "ready\n"
                first = await here.wait_for(early.id, "60s")
                with_both = Horae(url, engine=False)
                with_both.task(name="theirs")(lambda: None)
                async with with_both:
                    many = [await with_both.schedule("theirs", "in 1s") for _ in range(5)]
                    ran = [first, *[await task.wait("60s") for task in many]]
                mine = await (await here.schedule("ours", "now")).wait("60s")
                other.stdin.close()
            assert [(run.state, run.attempt, run.value) for run in ran] == [
                (RunState.SUCCEEDED, 1, "from the other process")
            ] * 6
            assert mine.value == "from here"
