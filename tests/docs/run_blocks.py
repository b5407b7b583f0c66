"""Runner of the Python blocks of one section, in one namespace, with `await` at the top level."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import sys
from typing import Any


def run_blocks(blocks: list[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        for number, block in enumerate(blocks, start=1):
            code = compile(block, f"<block {number}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            answer = eval(code, namespace)  # noqa: S307 - our own documentation
            if inspect.iscoroutine(answer):
                runner.run(answer)


if __name__ == "__main__":
    run_blocks(json.load(sys.stdin))
