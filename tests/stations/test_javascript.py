"""A second client, in JavaScript, written from docs/stations-wire.md: talks to the node and reads the test vectors."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from horae.model.outcome import Failed, Succeeded

from .setup import open_node

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "station.js"
NODE = shutil.which("node")
NPM = shutil.which("npm")
MODULES = Path(sys.prefix) / "node"
"""Folder of the library, in the environment of the tests."""
ENVIRONMENT = {**os.environ, "NODE_PATH": str(MODULES / "node_modules")}

pytestmark = pytest.mark.skipif(NODE is None or NPM is None, reason="needs node and npm")


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    """Install the library once."""
    probe = [NODE or "", "-e", 'require("zeromq")']
    if subprocess.run(probe, capture_output=True, env=ENVIRONMENT, check=False).returncode:
        words = [NPM or "", "install", "--no-audit", "--no-fund", "--prefix", str(MODULES), "zeromq@6"]
        subprocess.run(words, capture_output=True, check=True)


async def test_station_in_javascript_joins_and_answers(tmp_path: Path) -> None:
    async with open_node(tmp_path, worker_wait=20.0) as node:
        await node.allow("sums")
        process = await asyncio.create_subprocess_exec(
            NODE or "", str(PROGRAM), "sums", "js", node.server.address, node.key or "", str(node.folder / "sums.key"),
            env=ENVIRONMENT,
        )  # fmt: skip
        try:
            add = node.invocation('{"station":"sums","command":"add"}', payload='{"a":2,"b":3}')
            outcome = await node.target.execute(add)
            assert isinstance(outcome, Succeeded), outcome
            assert json.loads(outcome.result or "") == {"sum": 5, "key": add.run.id}
            outcome = await node.target.execute(node.invocation('{"station":"sums","command":"fail"}'))
            assert outcome == Failed("ERROR: Error: no")
            (worker,) = node.hub.workers
            beats = worker.seen
            await node.until(lambda: worker.seen > beats)
        finally:
            process.kill()
            await process.wait()


def test_test_vectors_are_read_in_javascript() -> None:
    script = """
        const { decode } = require(process.argv[1]);
        const vectors = require(process.argv[2]).valid.filter((each) => each.generation !== 1);
        for (const each of vectors) {
          const message = decode(each.parts.map((part) => Buffer.from(part, "hex")));
          if (message.code !== each.code) throw new Error(each.name);
        }
        console.log(vectors.length);
    """
    vectors = ROOT / "tests" / "data" / "station_vectors.json"
    done = subprocess.run(
        [NODE or "", "-e", script, str(PROGRAM), str(vectors)], capture_output=True, env=ENVIRONMENT, check=True
    )
    assert int(done.stdout) > 15
