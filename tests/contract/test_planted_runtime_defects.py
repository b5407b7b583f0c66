"""Mutation check of the runtime contract: each planted defect fails the contract test listed for it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from horae.agents.runtimes import host_processes, local
from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.runtimes.local import LocalRuntime
from horae.agents.runtimes.process import ProcessRuntime
from horae.agents.runtimes.supervised import LaunchRequest, SupervisedProcess
from horae.ports.runtime import Exit, Runtime, RuntimeSpec
from horae.testing.contracts.runtimes import RuntimeCase, RuntimeContract, RuntimeIsolationContract
from tests.servers.programs import program


class Defective(BubblewrapRuntime):
    """Without some flags of the sandbox, or with others in addition."""

    without: ClassVar[Sequence[str]] = ()
    added: ClassVar[Sequence[str]] = ()
    change: ClassVar[dict[str, object]] = {}

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        request = super().request(spec, cgroups)
        argv = [word for word in request.argv if word not in self.without]
        end = argv.index("--hostname")
        return replace(request, argv=[*argv[:end], *self.added, *argv[end:]], **self.change)  # type: ignore[arg-type]


class SharesTheNetwork(Defective):
    added = ("--share-net",)


class HasAWritableRoot(Defective):
    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        request = super().request(spec, cgroups)
        at = list(request.argv).index("--remount-ro")
        return replace(request, argv=[*request.argv[:at], *request.argv[at + 2 :]])


class MountsAllWritable(Defective):
    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        writable = [mount._replace(writable=True) for mount in spec.mounts]
        return super().request(replace(spec, mounts=writable), cgroups)


class StaysRoot(Defective):
    change: ClassVar = {"user": None, "stage": ()}

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        self._user = None
        return super().request(spec, cgroups)


class AllowsNestedNamespaces(Defective):
    without = ("--disable-userns",)


class PassesTheEnvironment(ProcessRuntime):
    def __init__(self, install: str) -> None:
        super().__init__(install, is_allowed=True)

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        request = super().request(spec, cgroups)
        return replace(request, environment={**os.environ, **request.environment})


class HasNoControlGroup(PassesTheEnvironment):
    """And nothing instead of it."""

    def __init__(self, install: str) -> None:
        super().__init__(install)
        self._hierarchies = ()

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        return replace(super().request(spec, cgroups), rlimits={})


class LeavesOrphans(PassesTheEnvironment):
    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        return replace(super().request(spec, cgroups), adopts=False, cgroups=())


class HasNoOutputLimit(PassesTheEnvironment):
    async def start(self, spec: RuntimeSpec) -> SupervisedProcess:
        return await super().start(replace(spec, limits=replace(spec.limits, output=spec.limits.output * 2)))


class ReapsNothing(PassesTheEnvironment):
    async def reap(self, keep: Collection[str] = ()) -> Sequence[str]:
        # The test ends with a call of its own, which must clean up.
        return [] if keep else await super().reap(keep)


class ReapsAllInstallations(PassesTheEnvironment):
    async def reap(self, keep: Collection[str] = ()) -> Sequence[str]:
        await ProcessRuntime(f"{self._install}-2", is_allowed=True).reap()
        return await super().reap(keep)


class ReapsKeptRuns(PassesTheEnvironment):
    async def reap(self, keep: Collection[str] = ()) -> Sequence[str]:
        reaped = await super().reap()
        return [run for run in reaped if run not in keep]


class PutsInputIntoTheEnvironment(PassesTheEnvironment):
    """As if the secrets were an argument of the program."""

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        request = super().request(spec, cgroups)
        return replace(request, environment={**request.environment, "TOKEN": "swordfish-5f3c"})


class ChecksNoSpec(PassesTheEnvironment):
    async def start(self, spec: RuntimeSpec) -> SupervisedProcess:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local, "check_spec", lambda _: None)
            return await super().start(spec)


class StopsAtOnce(PassesTheEnvironment):
    async def start(self, spec: RuntimeSpec) -> SupervisedProcess:
        process = await super().start(spec)
        stop = process.stop

        async def stop_at_once(grace: float = 0.0) -> Exit:  # noqa: ARG001 - the defect
            return await stop(0)

        process.stop = stop_at_once  # type: ignore[method-assign]
        return process


DEFECTS: dict[type[LocalRuntime], str] = {
    SharesTheNetwork: "test_there_is_no_network",
    HasAWritableRoot: "test_the_root_is_read_only_and_scratch_is_not",
    MountsAllWritable: "test_mounts_are_read_only_unless_writable",
    StaysRoot: "test_the_user_is_not_root_and_has_no_privileges",
    AllowsNestedNamespaces: "test_new_user_namespace_is_refused",
    PassesTheEnvironment: "test_only_the_given_environment_is_passed",
    HasNoControlGroup: "test_fork_bomb_is_contained_and_ends",
    LeavesOrphans: "test_children_end_with_the_program",
    HasNoOutputLimit: "test_endless_output_is_cut_and_ends_the_program",
    ReapsNothing: "test_reaping_leaves_kept_runs_and_other_installations",
    ReapsAllInstallations: "test_reaping_leaves_kept_runs_and_other_installations",
    ReapsKeptRuns: "test_reaping_leaves_kept_runs_and_other_installations",
    PutsInputIntoTheEnvironment: "test_secrets_of_stdin_are_in_no_argument_and_no_environment",
    ChecksNoSpec: "test_specs_that_cannot_work_are_refused",
    StopsAtOnce: "test_stop_asks_and_the_program_ends_in_order",
}


class DefectContract(RuntimeContract, RuntimeIsolationContract):
    patience = timedelta(seconds=3)
    root: ClassVar[Path]
    defect: type[LocalRuntime]

    def runtime(self, install: str) -> Runtime:
        if issubclass(self.defect, BubblewrapRuntime):
            return self.defect(install, root=self.root)
        return self.defect(install)  # type: ignore[return-value]

    def python(self) -> Sequence[str]:
        return ("python3",) if issubclass(self.defect, BubblewrapRuntime) else (sys.executable, "-I")

    def host_command(self, install: str, run: str, socket: Path) -> Sequence[str]:
        raise NotImplementedError


@pytest.fixture(scope="module", autouse=True)
def _root(python_root: Path) -> None:
    program("bwrap", package="bubblewrap")
    DefectContract.root = python_root


@pytest.fixture
def _swept() -> Iterator[None]:
    """End what a defective runtime has left."""
    yield
    install = f"test-{os.getpid()}"
    for name in (install, f"{install}-2"):
        for processes in host_processes.find_runs(name).values():
            host_processes.kill(processes)
        asyncio.run(ProcessRuntime(name, is_allowed=True).reap())


@pytest.mark.usefixtures("_swept")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("defect", "name"), DEFECTS.items(), ids=lambda case: getattr(case, "__name__", case))
def test_a_planted_defect_is_noticed(defect: type[LocalRuntime], name: str) -> None:
    contract: RuntimeCase = DefectContract()
    contract.defect = defect  # type: ignore[attr-defined]
    with pytest.raises((AssertionError, TimeoutError)):
        getattr(contract, name)()
