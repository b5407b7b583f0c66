"""Runtimes: flags of docker, refusals with working hints, and a link that is swapped in between check and mount."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from horae.agents.runtimes import bubblewrap as bubblewrap_module
from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.runtimes.cgroup import Hierarchy
from horae.agents.runtimes.container import ContainerRuntime
from horae.agents.runtimes.local import run_once
from horae.agents.runtimes.process import ProcessRuntime
from horae.errors import NotAllowed, Refusal
from horae.ports.runtime import Exit, ForwardedSocket, Limits, Mount, RuntimeSpec
from tests.servers.programs import program

SPEC = RuntimeSpec(
    run="run_1",
    program=["horae-agent", "--mind", "echo"],
    mounts=[Mount("/srv/a", "/workspace/group", writable=True), Mount("/srv/b", "/workspace/global")],
    sockets=[ForwardedSocket("/run/model.sock", "/run/horae/model.sock")],
    environment={"TZ": "Asia/Shanghai"},
    directory="/workspace/group",
    limits=Limits(memory=256 * 1024 * 1024, processes=64, cpus=0.5, scratch=1024),
)


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    program("bwrap", package="bubblewrap")


def pairs(words: list[str]) -> set[tuple[str, str]]:
    return set(pairwise(words))


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_container_has_no_privileges_no_network_and_all_limits(name: str) -> None:
    runtime = ContainerRuntime("a", program="docker" if name == "docker" else "podman", image="horae-agent:latest")
    words = list(runtime.run_arguments(SPEC))
    assert pairs(words) >= {
        ("--network", "none"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
        ("--user", "65534:65534"),
        ("--memory", "268435456"),
        ("--memory-swap", "268435456"),
        ("--pids-limit", "64"),
        ("--cpus", "0.5"),
        ("--label", "horae.install=a"),
        ("--label", "horae.run=run_1"),
        ("--name", "horae.a.run_1"),
        ("--log-driver", "none"),
        ("--pull", "never"),
        ("--mount", "type=bind,source=/srv/a,target=/workspace/group"),
        ("--mount", "type=bind,source=/srv/b,target=/workspace/global,readonly"),
        ("--mount", "type=bind,source=/run/model.sock,target=/run/horae/model.sock"),
        ("--env", "TZ=Asia/Shanghai"),
    }
    assert {"--read-only", "--rm", "--init"} <= set(words)
    assert words[-4:] == ["horae-agent:latest", "horae-agent", "--mind", "echo"]
    assert ("--read-only-tmpfs=false" in words) is (name == "podman")


@pytest.mark.parametrize("options", [{}, {"image": "a", "rootfs": "/b"}, {"image": "--privileged"}])
def test_container_without_one_image_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(Refusal):
        ContainerRuntime("a", image=options.get("image", ""), rootfs=options.get("rootfs", ""))


def test_rootfs_is_refused_for_docker() -> None:
    with pytest.raises(Refusal):
        ContainerRuntime("a", program="docker", rootfs="/srv/root")


@pytest.mark.parametrize("install", ["", "a.b", "-a", "a b", "x" * 41])
def test_bad_name_of_an_installation_is_refused(install: str) -> None:
    with pytest.raises(Refusal) as refused:
        ProcessRuntime(install)
    assert refused.value.code == "runtime_spec"


async def test_plain_process_is_refused_unless_the_operator_allows_it() -> None:
    runtime = ProcessRuntime("a")
    with pytest.raises(NotAllowed) as checked:
        await runtime.check()
    with pytest.raises(NotAllowed):
        await runtime.start(RuntimeSpec(run="r", program=["true"]))
    assert checked.value.code == "runtime_not_isolated"
    assert "bubblewrap" in checked.value.hint


async def test_missing_program_of_a_runtime_is_refused_with_its_package() -> None:
    with pytest.raises(Refusal) as refused:
        await BubblewrapRuntime("a", program="horae-no-bwrap").check()
    assert refused.value.code == "runtime_missing"
    assert "apt-get install bubblewrap" in refused.value.hint


async def test_broken_runtime_is_refused_with_its_error(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        await BubblewrapRuntime("a", root=tmp_path).check()
    assert refused.value.code == "runtime_broken"
    assert "No such file" in refused.value.message


async def test_bubblewrap_works_on_the_programs_of_the_machine() -> None:
    runtime = BubblewrapRuntime("a")
    assert (await runtime.check())["output"] == "host"
    shown = "test ! -e /etc/shadow && test ! -e /root && test ! -e /var && ! touch /usr/x 2>/dev/null"
    spec = RuntimeSpec(run=f"own-{os.getpid()}", program=["sh", "-c", shown])
    assert await run_once(await runtime.start(spec), 10) == (0, "")


@pytest.mark.skipif(
    os.geteuid() != 0, reason="the stage of mounts exists for root only; others mount with their own rights"
)
@pytest.mark.parametrize("path", ["link", "link/inner"])
async def test_link_swapped_in_after_the_check_is_not_mounted(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher opens the path without following links: here the check itself is switched off."""
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "secret" / "inner").mkdir(parents=True)
        (folder / "link").symlink_to(folder / "secret")
        monkeypatch.setattr("horae.agents.runtimes.local.check_spec", lambda _: None)
        spec = RuntimeSpec(
            run=f"link-{os.getpid()}", program=["ls", "/workspace"], mounts=[Mount(f"{folder}/{path}", "/workspace/x")]
        )
        process = await BubblewrapRuntime("a").start(spec)
        code, errors = await run_once(process, 10)
        assert code is None
        assert "symbolic link" in errors
        assert (await process.wait()).cause == "not_started"


async def test_agent_without_its_control_group_is_not_started(tmp_path: Path) -> None:
    runtime = ProcessRuntime("a", is_allowed=True)
    runtime._hierarchies = [Hierarchy(tmp_path / "absent", ("memory", "pids"), is_unified=True)]
    with pytest.raises(Refusal) as refused:
        await runtime.start(RuntimeSpec(run="r", program=["true"]))
    assert refused.value.code == "runtime_broken"


async def test_agent_ends_though_its_launcher_does_not_respond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.agents.runtimes.supervised._ABANDON_SECONDS", 0.1)
    runtime = ProcessRuntime(f"stuck-{os.getpid()}", is_allowed=True)
    async with await runtime.start(RuntimeSpec(run="r", program=["sh", "-c", "echo ready; read x"])) as process:
        assert (await anext(process.output())).data == b"ready\n"
        os.kill(process._launcher.pid, signal.SIGSTOP)
        assert await process.stop() == Exit(None, "stopped")
    assert await runtime.reap() == []


def test_nobody_is_the_user_of_root_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BubblewrapRuntime("a").owner == (
        bubblewrap_module.NOBODY if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1000)
    assert BubblewrapRuntime("a").owner == (1000, 1000)
    rootless = ContainerRuntime("a", image="x")
    assert ("--userns", "keep-id") in pairs(list(rootless.run_arguments(SPEC)))
    assert rootless.owner == (1000, 1000)
