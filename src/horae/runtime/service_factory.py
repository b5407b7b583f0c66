"""Composition root: builds the service of an opened store from the settings, and opens the targets of a node."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from ..clock import Clock
from ..encryption import Cipher, make_cipher
from ..encryption.key_location import SharedKeyFile, make_server_cipher
from ..encryption.refusals import refuse as refuse_key
from ..errors import InvalidSchedule, Refusal
from ..model.accounts.account import agent_of
from ..model.accounts.principal import MEMBER_QUOTAS, NO_QUOTAS, SCOPES_OF, Principal, Quotas, Role
from ..model.accounts.system_owner import account_of
from ..model.agents.group import Group
from ..model.agents.lineage import MAX_DEPTH, Lineage, depth_of
from ..model.gate import DEFAULT_LIMIT, GateLimit
from ..model.refusals import refuse
from ..model.task import Task
from ..notifiers.apprise_notifier import AppriseNotifier
from ..outgoing.addresses import read_networks
from ..ports.doctor import Check
from ..ports.full_store import FullStore
from ..ports.notifier import Notifier
from ..ports.records import Record, Records
from ..ports.target import TargetKind, Tools
from ..schedule.durations import parse_duration
from ..service.accounts.approval_policy import ApprovalPolicy
from ..service.accounts.secrets import SecretVault
from ..service.service import Service
from ..service.tasks.quotas import command_for
from ..settings import Settings
from .agents.runtime import AGENT, STATION, with_agent_defaults, with_station_defaults
from .stores import MEMORY, is_on_server, sqlite_path
from .target_kinds import TargetKinds, open_all
from .zero_settings import plan_exec_timeout

if TYPE_CHECKING:
    from .deployment_examiner import DeploymentExaminer

_MAX_TASKS: Final = 1_000_000
_MAX_REQUESTS: Final = 1_000_000
_NO_LIMIT: Final = ("off", "none")


def read_default_quotas(settings: Settings) -> Quotas:
    """Return the quotas of owners without admin rights: interval, active tasks, request rate."""
    return MEMBER_QUOTAS._replace(
        shortest_interval=_min_interval(settings),
        active_tasks=_max_active_tasks(settings),
        requests_per_minute=_requests_per_minute(settings),
    )


def _requests_per_minute(settings: Settings) -> int | None:
    """Return the requests a minute of one owner; None (for 0 or `off`) means no limit."""
    text = str(settings.value("rate_limit")).strip().lower()
    if text in (*_NO_LIMIT, "0"):
        return None
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _MAX_REQUESTS:
        raise refuse("bad_number", name="rate_limit", value=text, least=1, most=_MAX_REQUESTS)
    return int(text)


def _min_interval(settings: Settings) -> timedelta | None:
    text = str(settings.value("quota_min_interval")).strip().lower()
    if text in (*_NO_LIMIT, "0"):
        return None
    try:
        return parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        raise refuse("bad_duration", name="quota_min_interval", value=text, least="0s", most="1d") from None


def _max_active_tasks(settings: Settings) -> int | None:
    text = str(settings.value("quota_active_tasks")).strip().lower()
    if text in _NO_LIMIT:
        return None
    if not text.isdecimal() or int(text[:9]) > _MAX_TASKS:
        raise refuse("bad_number", name="quota_active_tasks", value=text, least=0, most=_MAX_TASKS)
    return int(text)


def _max_depth(settings: Settings) -> int:
    text = str(settings.value("agent_depth")).strip()
    if not text.isdecimal() or int(text[:9]) > MAX_DEPTH:
        raise refuse("bad_number", name="agent_depth", value=text, least=0, most=MAX_DEPTH)
    return int(text)


def cipher_for_store(url: str, key_file: str | None) -> Cipher:
    """Return the cipher of a store's secrets; `key_file` is the setting of that name."""
    return make_server_cipher(key_file) if is_on_server(url) else make_cipher(sqlite_path(url), key_file)


def missing_key_refusal(url: str, key_file: str | None) -> Refusal | None:
    """Return a refusal if the key file of a store on a server is missing here: it was created on another machine."""
    key = cipher_for_store(url, key_file)
    is_missing = isinstance(key, SharedKeyFile) and not key.exists
    return refuse_key("key_file_missing", path=key.origin) if is_missing else None


_CALLBACK_KEY: Final = "callback_key"
_KEY_RECORD: Final = ("callback", "key")


def make_service(  # noqa: PLR0913 - parts of a process, each by its name
    url: str,
    store: FullStore,
    clock: Clock,
    zone: str | None,
    kinds: TargetKinds,
    on_write: Callable[[datetime | None], None] = lambda _due: None,
    *,
    notifier: Notifier | None = None,
) -> Service:
    """Build the service; `kinds` has the settings and checks the targets of new tasks; `on_write` follows each write.

    `notifier` replaces apprise.
    """
    settings = kinds.settings
    networks = read_networks(settings.value("outgoing_networks"))
    return Service(
        store,
        clock,
        zone,
        SecretVault(store, cipher_for_store(url, settings.value("key_file")), clock),
        check=kinds.check,
        on_write=on_write,
        networks=networks,
        notifier=notifier or AppriseNotifier(networks, tuple(settings.value("notify_host_schemas"))),
        member_quotas=read_default_quotas(settings),
        approval_policy=ApprovalPolicy(frozenset(settings.value("agent_functions") or ()), _max_depth(settings)),
        examine=_Examine(url, settings, zone, clock),
        check_mounts=partial(_check_mounts, settings),
        plan_exec_timeout=plan_exec_timeout(settings),
    )


def _check_mounts(settings: Settings, group: Group) -> Sequence[Refusal]:
    """Return the refusals of the operator's list for the mounts of a group; none where this process knows no list."""
    if not group.mounts:
        return ()
    from ..agents.mounts import MountRequest, resolve_mounts  # noqa: PLC0415 - few groups have mounts
    from ..agents.settings import read_settings  # noqa: PLC0415

    try:
        agents = read_settings(settings.target("agent"))
        if agents.directory is None and agents.mounts is None:
            return ()
        requests = [MountRequest(each.path, each.name, readonly=not each.is_writable) for each in group.mounts]
        reserved = () if agents.directory is None else agents.workspace.reserved
        return resolve_mounts(agents.mount_list, requests, is_main=group.is_main, reserved=reserved).refusals
    except Refusal as refusal:
        return (refusal,)


class _Examine:
    """Examination of the deployment, loaded on first use: few processes make one."""

    def __init__(self, url: str, settings: Settings, zone: str | None, clock: Clock) -> None:
        self._parts = url, settings, zone, clock

    async def __call__(self, service: Service) -> tuple[Check, ...]:
        return await self._examiner.examine(service)

    async def durability(self) -> tuple[Check, ...]:
        return await self._examiner.examine_durability()

    @cached_property
    def _examiner(self) -> DeploymentExaminer:
        from .deployment_examiner import DeploymentExaminer, deployment_of  # noqa: PLC0415

        url, settings, zone, clock = self._parts
        return DeploymentExaminer(deployment_of(url, settings, zone), clock)


async def principal_of_run(service: Service, task: Task) -> Principal:
    """Return the task's owner, or its agent, with the rights and quotas of that owner but never those of an admin."""
    account = account_of(task.owner)
    owner = await service.accounts.find(account)
    role = Role.MEMBER if owner is None or owner.role is Role.ADMIN else owner.role
    quotas = NO_QUOTAS if owner is None else owner.quotas
    scopes = SCOPES_OF[role]
    lineage = Lineage(depth=depth_of(task.labels))
    return Principal(
        account,
        scopes=scopes,
        actor=task.id,
        via="run",
        agent=agent_of(task),
        quotas=quotas,
        role=role,
        lineage=lineage,
    )


async def gate_limit_of_run(service: Service, task: Task) -> GateLimit:
    """Return how much a gate may answer: the quota of the task's owner, or of the agent that made it."""
    principal = await principal_of_run(service, task)
    quotas = principal.quotas
    if principal.agent is not None:
        quotas = await service.agents.quotas(principal.owner, principal.agent, quotas)
    if quotas.gate_bytes is None:
        return DEFAULT_LIMIT
    return GateLimit(quotas.gate_bytes, command_for(principal, "gate_bytes", ""))


async def open_targets(
    service: Service,
    clock: Clock,
    kinds: TargetKinds,
    publish: Callable[[str, Mapping[str, Any]], int | None],
    url: str = MEMORY,
) -> dict[str, Any]:
    """Open every target kind; return by name the target, or the refusal that says why it does not work here.

    `url` is that of the store: the files of agents are beside a SQLite file.
    """
    key = await callback_key(service.store) if kinds.settings_of("http").get("callback_url") else None

    async def reach(owner: str, task_id: str, topic: str) -> Mapping[str, int]:
        listeners = await service.listeners.reach(owner, task_id, topic)
        return {
            "streams": listeners.streams,
            "webhooks": listeners.webhooks,
            "terminals": listeners.terminals,
            "destinations": listeners.destinations,
        }

    def open_one(name: str, kind: TargetKind) -> Any:
        settings = kinds.settings_of(name)
        if name == "http" and key is not None:
            # The API verifies callbacks with the deployment's key: tokens must be made with the same one.
            settings = {**settings, _CALLBACK_KEY: key}
        if name == AGENT:
            settings = with_agent_defaults(settings, url)
        if name == STATION:
            settings = with_station_defaults(settings, url)
        store = service.store
        return kind.open(
            Tools(
                clock,
                service.secrets,
                settings,
                publish,
                reach,
                store,
                store,
                service,
                partial(principal_of_run, service),
            )
        )

    return {name: await _start_target(each) for name, each in open_all(kinds, open_one).items()}


async def _start_target(target: Any) -> Any:
    """Start a target that has work to do before its first run; the refusal of one that does not work here replaces it."""
    start = getattr(target, "start", None)
    try:
        if start is not None:
            await start()
    except Refusal as refusal:
        return refusal
    return target


async def callback_key(records: Records) -> str:
    """Return the key of callback tokens, shared by all nodes; created on first use."""
    while (record := await records.get_record(*_KEY_RECORD)) is None:
        # Of several processes that create it at once, the first write wins.
        await records.put_record(Record(*_KEY_RECORD, "", json.dumps(token_hex(32))), replacing=None)
    return str(json.loads(record.body))
