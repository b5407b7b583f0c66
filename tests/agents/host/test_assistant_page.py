"""The page "Your assistant on a schedule": its commands, in order, lead to a morning message in the chat."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from pathlib import Path

from horae import Horae
from horae.clock import SystemClock
from tests.agents.host.up_process import WITHIN, ChatNode, chat_node

DOCS = Path(__file__).parents[3] / "docs"
ENGLISH, CHINESE = DOCS / "assistant.md", DOCS / "assistant.zh-CN.md"


def commands(page: Path) -> list[list[str]]:
    """Return the commands of the sections 3 and 4: register a chat, and the morning message."""
    text = page.read_text(encoding="utf-8")
    part = text[text.index("\n## 3") : text.index("\n## 5")]
    blocks = re.findall(r"```sh\n(.*?)```", part, re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line.startswith("horae ")]


async def run(node: ChatNode, words: list[str]) -> None:
    environment = {**os.environ, "HORAE_STORE": node.store, "HOME": str(node.folder)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "horae", *words),
        cwd=node.folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


async def test_the_commands_of_the_page_lead_to_a_message_in_the_chat(tmp_path: Path) -> None:
    async with chat_node(tmp_path) as node:
        (tmp_path / "horae.toml").unlink()  # the page needs no settings
        async with node.up() as up:
            assert up.ready["agents"]["channels"] == ["web"]
            for words in commands(ENGLISH):
                await run(node, words)
            async with Horae(node.store, engine=False) as app, asyncio.timeout(WITHIN):
                group = await app.service.groups.find("family")
                assert group is not None
                # The run itself ends ten seconds after its answer.
                while not any("< [SCHEDULED TASK" in text for text in await node.texts(group)):
                    await SystemClock().pause(0.1)


def test_both_pages_have_the_same_commands() -> None:
    english = [words[0] for words in commands(ENGLISH)]

    assert english == ["group", "add", "run"]
    assert [words[0] for words in commands(CHINESE) if words[0] != "owner"] == english
