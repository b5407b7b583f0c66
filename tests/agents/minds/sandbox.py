"""One agent in a sandbox without a network: its directories, its model socket, and its results."""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import horae
from horae.agents.protocol import AgentInput, AgentResult, BadResult, ResultParser, write_input
from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.runtimes.container import ContainerRuntime
from horae.ports.runtime import ForwardedSocket, Limits, Mount, Runtime, RuntimeProcess, RuntimeSpec
from tests.deploy.base_image import lay_out
from tests.deploy.podman import Podman
from tests.docs.pages import ROOT

PACKAGE: Final = Path(horae.__file__).parent
TESTS: Final = Path(__file__).resolve().parent
SOCKET: Final = "/run/horae/model.sock"
FOLDERS: Final = ("group", "global", "ipc", "session")


class Sandbox:
    """`folder` has the directories of the group, as they are mounted below /workspace."""

    def __init__(
        self, runtime: Runtime, folder: Path, program: Sequence[str], python: str, mounts: Sequence[Mount]
    ) -> None:
        self.runtime = runtime
        self.folder = folder
        self._program = program
        self._python = python
        self._mounts = mounts
        self.socket = folder / "model.sock"
        self.stderr = b""
        for path in (
            *(folder / name for name in FOLDERS),
            *(folder / "ipc" / name for name in ("input", "tasks", "answers")),
        ):
            path.mkdir()
            os.chown(path, *runtime.owner)

    def tool_server(self, words: str) -> Sequence[str]:
        """Options for a further MCP server, a program of these tests."""
        return ("--mcp-server", f"test={self._python} /opt/tests/{words}")

    @asynccontextmanager
    async def agent(self, given: AgentInput, *arguments: str, **environment: str) -> AsyncIterator[RuntimeProcess]:
        words = [*self._program, "--poll", "0.02", "--forward", f"8080:{SOCKET}"]
        spec = RuntimeSpec(
            run="agent",
            program=[*words, *arguments],
            mounts=[
                *(Mount(str(self.folder / name), f"/workspace/{name}", writable=name != "global") for name in FOLDERS),
                Mount(str(TESTS), "/opt/tests"),
                *self._mounts,
            ],
            sockets=[ForwardedSocket(str(self.socket), SOCKET)],
            environment={"PYTHONPATH": "/opt/horae:/opt/site", "PYTHONDONTWRITEBYTECODE": "1", **environment},
            directory="/workspace/group",
            limits=Limits(memory=4096 * 1024 * 1024),
        )
        async with asyncio.timeout(60), await self.runtime.start(spec) as process:
            await process.write(write_input(given))
            process.close_input()
            self._output = process.output()
            self._parser = ResultParser()
            self._results: list[AgentResult | BadResult] = []
            yield process

    async def next_result(self) -> AgentResult:
        while not self._results:
            chunk = await anext(self._output, None)
            assert chunk is not None, self.stderr.decode(errors="replace")
            if chunk.stream == "stderr":
                self.stderr += chunk.data
            else:
                self._results += self._parser.feed(chunk.data)
        result = self._results.pop(0)
        assert isinstance(result, AgentResult), result
        return result


def open_bubblewrap(folder: Path) -> Sandbox:
    """The root is the machine's own /usr, with the interpreter, the package and the libraries of the tests."""
    mounts = [Mount(sysconfig.get_path("purelib"), "/opt/site"), Mount(str(PACKAGE), "/opt/horae/horae")]
    prefix = os.path.realpath(sys.base_prefix)
    if not prefix.startswith("/usr"):
        mounts.append(Mount(prefix, prefix))
    python = os.path.realpath(sys.executable)
    program = [python, "-m", "horae.agents.runner.main"]
    return Sandbox(BubblewrapRuntime(f"minds-{os.getpid()}"), folder, program, python, mounts)


def open_podman(folder: Path, podman: Podman, image: str) -> Sandbox:
    """The image has all but the libraries of the mind claude, which are large."""
    runtime = ContainerRuntime(f"minds-{os.getpid()}", options=podman.options, image=image)
    mounts = [Mount(sysconfig.get_path("purelib"), "/opt/site")]
    return Sandbox(runtime, folder, ["horae-agent"], "python3", mounts)


def build_image(podman: Podman, folder: Path) -> str:
    """Build the image of agents without a registry; return its name."""
    # The last two are for the C libraries that they need: the library of the mind claude imports them.
    lay_out(folder / "base", ("horae[http]", "hatchling", "pip", "rpds-py", "pydantic-core"))
    (folder / "Basefile").write_text("FROM scratch\nCOPY base /\n")
    podman.build("base", folder / "Basefile", folder)
    podman.build(
        "agent",
        ROOT / "deploy" / "agent" / "Containerfile",
        ROOT,
        BASE="localhost/base",
        EXTRAS="http",
        VENV_OPTIONS="--system-site-packages --without-pip",
        PIP_OPTIONS="--no-index --no-deps --no-build-isolation --no-compile",
    )
    return "localhost/agent"


def an_input(prompt: str, **fields: Any) -> AgentInput:
    given = {"group_folder": "family", "chat_jid": "web:1", "is_main": False, "assistant_name": "小时"}
    return AgentInput(prompt=prompt, **{**given, **fields})
