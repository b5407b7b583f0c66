"""Examiner of the deployment of this process: reads machine, settings, store file or database server, and makes the checks.

A running server examines itself within bounds: file systems are read in a thread, a store has seconds to answer, and a
large store is not scanned.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ..clock import Clock
from ..doctor import messages as words
from ..doctor.database_checks import (
    check_database_server,
    check_encryption,
    check_features,
    refused_store,
    select_durability,
)
from ..doctor.machine_checks import (
    ClockReading,
    check_clock,
    check_machine,
    check_python,
    check_senders,
    check_settings,
    check_unused_settings,
    check_zones,
)
from ..doctor.store_checks import (
    StoreFacts,
    check_content,
    check_file,
    check_integrity,
    check_model,
    check_writes,
)
from ..encryption.key_location import configured_path, key_path
from ..engine.settings import EngineSettings
from ..errors import HoraeError, Refusal, StoreError
from ..observe.observer import Observer
from ..ports.doctor import Check, make_check
from ..quantities import in_bytes
from ..service.doctor import SharedResult
from ..service.service import Service
from ..settings import DefaultZone, Settings
from .agents.channel_kinds import known_channels
from .agents.runtime import AGENT, with_agent_defaults
from .plain_connection import plain_connection
from .process_settings import process_zone, read_clock_tolerance
from .store_status import (
    ServerStatus,
    driver_of,
    find_missing_features,
    library_versions,
    read_file_status,
    read_server_status,
)
from .stores import MYSQL, POSTGRES, find_access_problem, is_on_server, mask_url, sqlite_path
from .unused_settings import find_unused_settings

if TYPE_CHECKING:
    from ..agents.model_proxy import ProbeResult

T = TypeVar("T")
_NO_TIME: Final = timedelta(0)


class Limits(NamedTuple):
    """Bounds of an examination by a process that has other work; None: no bound."""

    machine_seconds: float | None = None
    store_seconds: float | None = None
    integrity_bytes: int | None = None
    integrity_seconds: float | None = None
    integrity_age: timedelta = _NO_TIME
    """Age up to which the result of an earlier integrity check is shown."""
    model_age: timedelta = _NO_TIME
    """Age up to which the answer of the model endpoint is taken for the present one."""


UNLIMITED: Final = Limits()
SERVER_LIMITS: Final = Limits(
    machine_seconds=2.0,
    store_seconds=10.0,
    integrity_bytes=100_000_000,
    integrity_seconds=5.0,
    integrity_age=timedelta(minutes=10),
    model_age=timedelta(minutes=1),
)


class Deployment(NamedTuple):
    """The store, settings and default zone of a process."""

    url: str
    settings: Settings
    zone: DefaultZone
    environment: Mapping[str, str] = os.environ


def deployment_of(url: str, settings: Settings, zone: str | None) -> Deployment:
    """Return the deployment of a process whose code may have chosen another zone than the settings."""
    default = process_zone(None, settings)
    chosen = default if zone is None or zone == default.name else DefaultZone(zone, "flag", "--zone")
    return Deployment(url, settings, chosen)


class StoreSurvey(NamedTuple):
    """What is known about a store without opening it. `can_open`: nothing prevents that, and it would create nothing."""

    checks: tuple[Check, ...] = ()
    can_open: bool = True
    size: int = 0
    server: ServerStatus | None = None


class DeploymentExaminer:
    """`checks_disk`: whether the store is on this machine, where it needs space."""

    def __init__(
        self, deployment: Deployment, clock: Clock, limits: Limits = SERVER_LIMITS, *, checks_disk: bool = True
    ) -> None:
        self._deployment = deployment
        self._clock = clock
        self._limits = limits
        path = sqlite_path(deployment.url)
        self._path = None if path is None else Path(path).absolute()
        self._is_on_server = is_on_server(deployment.url)
        self._checks_disk = checks_disk and not self._is_on_server
        self._machine = SharedResult(self._check_machine, clock)
        self._file = SharedResult(self._survey_open_file, clock)
        self._integrity: SharedResult[Check] | None = None
        self._model: SharedResult[ProbeResult | None] | None = None

    async def examine(self, service: Service) -> tuple[Check, ...]:
        """Make all checks of an open store and of this process."""
        before = ClockReading.read(self._clock)
        survey = await self._survey_open_store()
        of_store = [*survey.checks, *await self._check_open_store(service, survey)]
        return await self.assemble(of_store, before)

    async def examine_durability(self) -> tuple[Check, ...]:
        """Make only the checks of what the server of the store can lose."""
        return select_durability((await self._survey_server()).checks) if self._is_on_server else ()

    async def examine_after(self, survey: StoreSurvey, service: Service) -> list[Check]:
        """Make the checks of a store that was surveyed before it was opened, since opening it may migrate it."""
        return [*survey.checks, *await self._check_open_store(service, survey)]

    async def assemble(self, of_store: Sequence[Check], before: ClockReading) -> tuple[Check, ...]:
        """Return the checks of the store between those of the process and of the machine."""
        machine = await self._machine.get(_NO_TIME, self._limits.machine_seconds)
        clock = check_clock(before, ClockReading.read(self._clock))
        if machine is None or self._machine.is_running:
            silent = make_check("disk", "skipped", words.MACHINE_SILENT, seconds=self._limits.machine_seconds)
            return (*of_store, clock, silent)
        process, rest = machine.value
        return (*process, *of_store, clock, *rest)

    # --- the process and its machine ------------------------------------------------------------------------------------

    async def _check_machine(self) -> tuple[list[Check], list[Check]]:
        """Return the checks of the process, and of the machine; both read the file system, and so in a thread."""
        return await asyncio.to_thread(lambda: (self._check_process(), self._check_rest()))

    def _check_process(self) -> list[Check]:
        settings = self._deployment.settings
        try:
            read_clock_tolerance(settings)
            found = check_settings(settings)
        except HoraeError as error:
            found = check_settings(error)
        unused = find_unused_settings(settings, self._deployment.environment)
        return [check_python(driver_versions(self._deployment.url)), found, *check_unused_settings(unused)]

    def _check_rest(self) -> list[Check]:
        from ..agents.host.sender_file import SenderFile  # noqa: PLC0415 - of agents, which most deployments do not have

        folder = Path.cwd() if self._path is None else self._path.parent
        return [
            check_zones(self._deployment.zone),
            *check_machine(folder if self._checks_disk else None),
            *check_senders(SenderFile(self._sender_list(), log=_log_nothing)),
        ]

    def _sender_list(self) -> Path | None:
        """Return the file of the senders that may wake agents; None without agents, or with settings that cannot be read."""
        from ..agents.settings import read_settings  # noqa: PLC0415 - likewise

        try:
            table = with_agent_defaults(self._deployment.settings.target(AGENT), self._deployment.url)
            return read_settings(table).sender_list
        except Refusal:
            return None

    # --- the store, before it is opened ---------------------------------------------------------------------------------

    async def survey_store(self) -> StoreSurvey:
        """Look at a store that this process has not opened; raises nothing."""
        return await self._survey_server() if self._is_on_server else self._survey_file(is_open=False)

    async def _survey_open_store(self) -> StoreSurvey:
        if self._is_on_server:
            return await self._survey_server()
        found = await self._file.get(_NO_TIME, self._limits.machine_seconds)
        if found is None or self._file.is_running:
            silent = make_check("store", "skipped", words.STORE_SILENT, seconds=self._limits.machine_seconds)
            return StoreSurvey((silent,))
        return found.value

    async def _survey_open_file(self) -> StoreSurvey:
        return await asyncio.to_thread(self._survey_file, is_open=True)

    def _survey_file(self, *, is_open: bool) -> StoreSurvey:
        path = self._path
        if path is None:
            return StoreSurvey()
        if not path.exists():
            gone = make_check("store", "error", words.STORE_GONE, words.STORE_GONE_FIX, path=path)
            none = make_check("store", "warning", words.NO_STORE, words.NO_STORE_FIX, path=path)
            return StoreSurvey((gone if is_open else none,), can_open=False)
        problem = find_access_problem(path)
        if problem is not None:
            message, facts = words.NOT_ACCESSIBLE[problem.use], {"path": problem.path, "reason": problem.reason}
            denied = make_check("store", "error", message, words.NOT_ACCESSIBLE_FIX, **facts)
            return StoreSurvey((denied,), can_open=False)
        try:
            status = read_file_status(str(path))
        except StoreError as error:
            return StoreSurvey((self.damaged_store(error),), can_open=False)
        checks = check_file(path, schema=status.schema, journal=status.journal, size=status.size)
        return StoreSurvey(tuple(checks), size=status.size)

    async def _survey_server(self) -> StoreSurvey:
        try:
            server = await self._answer_of_store(read_server_status(self._deployment.url, self._clock))
            missing = await self._answer_of_store(find_missing_features(self._deployment.url, self._clock))
        except StoreError as error:
            return StoreSurvey((self.damaged_store(error),), can_open=False)
        except TimeoutError:
            silent = make_check("store", "skipped", words.STORE_SILENT, seconds=self._limits.store_seconds)
            return StoreSurvey((silent,), can_open=False)
        if server is None:
            return StoreSurvey()
        checks = [*check_database_server(server, self._clock_tolerance())]
        if self._deployment.url.startswith((*POSTGRES, *MYSQL)):
            checks += check_features(missing)
        connection = plain_connection(self._deployment.url, self._deployment.environment)
        if connection is not None:
            checks.append(check_encryption(connection.host, connection.option))
        return StoreSurvey(tuple(checks), can_open=server.schema > 0, size=server.size, server=server)

    def damaged_store(self, error: StoreError) -> Check:
        """Return why the store cannot be used."""
        if self._path is None:
            return refused_store(error, mask_url(self._deployment.url))
        return make_check("store", "error", words.NOT_A_STORE, words.NOT_A_STORE_FIX, path=self._path, problem=error)

    # --- the content of the store ---------------------------------------------------------------------------------------

    async def _check_open_store(self, service: Service, survey: StoreSurvey) -> list[Check]:
        """Make the checks of the content; an error of the store is reported once, and not where the survey explains it."""
        found: list[Check] = []
        failures: list[StoreError] = []
        for part in (self._check_integrity(service, survey.size), self._check_content(service, survey)):
            try:
                found += await part
            except StoreError as error:
                failures.append(error)
        found += await self._check_model(service)
        if failures and not any(each.code == "store" and each.grade == "error" for each in survey.checks):
            found.insert(0, self.damaged_store(failures[0]))
        return found

    async def _check_content(self, service: Service, survey: StoreSurvey) -> list[Check]:
        try:
            return await self._answer_of_store(check_content(service, self._store_facts(survey), self._clock))
        except TimeoutError:
            return [make_check("tasks", "skipped", words.CONTENT_SILENT, seconds=self._limits.store_seconds)]

    def _store_facts(self, survey: StoreSurvey) -> StoreFacts:
        named = self._deployment.settings.value("key_file")
        key = configured_path(named) if self._path is None else key_path(str(self._path), named)
        offset = _NO_TIME if survey.server is None else survey.server.clock_offset
        channels = frozenset(known_channels(self._deployment.settings))
        return StoreFacts(self._is_on_server, self._path is not None, key, self._clock_tolerance(), offset, channels)

    async def _check_integrity(self, service: Service, size: int) -> list[Check]:
        """Check the whole store, or show the result of the last minutes; a running server does not scan a large one."""
        limits = self._limits
        if limits.integrity_bytes is not None and size > limits.integrity_bytes:
            facts = {"size": in_bytes(size), "limit": in_bytes(limits.integrity_bytes)}
            return [make_check("integrity", "skipped", words.INTEGRITY_TOO_LARGE, words.INTEGRITY_FIX, **facts)]
        self._integrity = self._integrity or SharedResult(lambda: check_integrity(service), self._clock)
        found = await self._integrity.get(limits.integrity_age, limits.integrity_seconds)
        if found is None:
            return [make_check("integrity", "skipped", words.INTEGRITY_UNDER_WAY)]
        return [found.value._replace(checked_at=found.at)]

    async def _check_model(self, service: Service) -> list[Check]:
        """Report whether agents can reach their model, where the settings have one."""
        from ..agents.model_proxy import probe_model  # noqa: PLC0415 - few deployments have agents
        from ..agents.settings import read_settings  # noqa: PLC0415

        table = self._deployment.settings.target(AGENT)
        if not table:
            return []

        async def probe() -> ProbeResult | None:
            try:
                return await probe_model(read_settings(table), service.secrets)
            except HoraeError:
                # The check of the settings, or the start of the node, reports it.
                return None

        self._model = self._model or SharedResult(probe, self._clock)
        found = await self._model.get(self._limits.model_age, None)
        return [] if found is None or found.value is None else [check_model(found.value)]

    def _clock_tolerance(self) -> timedelta:
        default = EngineSettings().clock_tolerance
        try:
            return read_clock_tolerance(self._deployment.settings) or default
        except Refusal:
            # The check of the settings reports it.
            return default

    async def _answer_of_store(self, answer: Awaitable[T]) -> T:
        async with asyncio.timeout(self._limits.store_seconds):
            return await answer


def _log_nothing(*_given: object) -> None:
    """The check reports it."""


def watch_writes(service: Service, observer: Observer) -> None:
    """Let the reports of this process contain a failed write probe of its readiness check."""
    service.doctor.further["writes"] = lambda: check_writes(observer.write_probe.problem)


def driver_versions(url: str) -> str | tuple[str, str]:
    """Return the database driver with its version, or the versions of SQLite and its library."""
    return driver_of(url) if is_on_server(url) else library_versions()
