"""Registry of functions: which nodes have them, their declared defaults, and their arguments."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any, Final, Literal, NamedTuple

from ....choices import Language
from ....clock import Clock
from ....errors import Refusal
from ....model.accounts.principal import Principal, Scope
from ....model.gate import Gate
from ....model.page import MAX_PAGE_SIZE
from ....model.task import Target
from ....ports.full_store import FullStore
from ....ports.node_records import load_agreed_lease
from ....ports.records import Record
from ....schedule import Schedule
from ...accounts.rights import refuse_agent
from ..advisories import Advisory, build_advisory, build_bilingual_advisory
from ..edits import DeclarationChange, Edits, Keep
from ..task_request import MissedRequest, Options, RetryRequest, TaskRequest
from .arguments import check_arguments, refuse
from .records import (
    NO_DEFAULTS,
    Defaults,
    FormerName,
    Registration,
    defaults_json,
    digest,
    module_source,
    read_registration,
    registration_json,
    signature_json,
)

LOG: Final = logging.getLogger("horae")
_FUNCTION: Final = "function"
_NODE_FUNCTIONS: Final = "node_functions"
_REMOVED: Final = "removed_function"
_CACHE_SECONDS: Final = 1.0
"""Cache lifetime in seconds; a result that would warn or refuse is always read again."""


class KnownFunction(NamedTuple):
    """A registration, the number of running nodes with the function, and whether those nodes declare the same."""

    registration: Registration
    nodes: int = 0
    same_signature: bool = True
    same_defaults: bool = True


class ResolvedRequest(NamedTuple):
    """A request with the declaration of its function applied; `declared` names the fields that came from there."""

    request: TaskRequest
    declared: tuple[str, ...] = ()
    warnings: tuple[Advisory, ...] = ()

    def declared_in(self, schedule: Schedule) -> list[str]:
        """Return the declared fields, without the zone if the schedule names one itself."""
        return [name for name in self.declared if name != "zone" or schedule.zone == self.request.zone]


class FunctionCatalogue(NamedTuple):
    """All registered functions. `aliases` maps names of earlier versions to current ones."""

    functions: Mapping[str, KnownFunction] = {}
    aliases: Mapping[str, str] = {}
    draining: Mapping[str, str] = {}
    """Functions of draining nodes, each with the id of one such node."""
    removed: Mapping[str, str] = {}
    """Functions that were registered and are no longer declared, each with its module."""

    def find(self, name: str) -> KnownFunction | None:
        whole = self.whole_name(name)
        return None if whole is None else self.functions[whole]

    def whole_name(self, name: str) -> str | None:
        """Return the registered name; a unique name without its module is enough."""
        if name in self.functions:
            return name
        alias = self.aliases.get(name)
        return alias if alias in self.functions else complete_name(name, self.functions)

    def resolve(self, request: TaskRequest) -> ResolvedRequest:
        """Apply the declaration of its function to a request; refused if the arguments certainly do not fit."""
        if request.resolved:
            return ResolvedRequest(request)
        gate_warnings = self.check_gate(request.options)
        request = request._replace(options=self.complete_gate(request.options))
        name = function_of(request.target)
        if name is None:
            return ResolvedRequest(request, (), gate_warnings)
        known = self.find(name)
        warnings = (*self.check(request.target, request.payload), *gate_warnings)
        if known is None:
            return ResolvedRequest(request._replace(resolved=True), (), warnings)
        filled, declared = apply_defaults(request, known.registration.defaults)
        return ResolvedRequest(filled._replace(resolved=True, target=self.complete(request.target)), declared, warnings)

    def complete(self, target: Target) -> Target:
        """Return the target with the registered name of its function."""
        name = function_of(target)
        whole = None if name is None else self.whole_name(name)
        return target if whole in (None, name) else with_function(target, str(whole))

    def complete_gate(self, options: Options) -> Options:
        """Return the options with the registered name of the gate's function."""
        gate = options.gate
        if not isinstance(gate, Gate):
            return options
        return options._replace(gate=replace(gate, spec=self.complete(Target(gate.kind, gate.spec)).spec))

    def check_gate(self, options: Options) -> tuple[Advisory, ...]:
        """Return warnings about the function of a gate."""
        given_name = gate_function_of(options)
        if given_name is None:
            return ()
        name = self.whole_name(given_name)
        if name is None:
            return (self._unknown(given_name),)
        completed = () if name == given_name else (build_advisory("function_completed", name=given_name, whole=name),)
        known = self.functions[name]
        return completed if known.nodes else (*completed, self._not_running(known))

    def check(self, target: Target, payload: str) -> tuple[Advisory, ...]:
        """Return warnings about a function and its arguments; refused if the arguments certainly do not fit."""
        given_name = function_of(target)
        if given_name is None:
            return ()
        name = self.whole_name(given_name)
        if name is None:
            return (self._unknown(given_name),)
        known = self.functions[name]
        warnings = [] if name == given_name else [build_advisory("function_completed", name=given_name, whole=name)]
        if not known.nodes:
            warnings.append(self._not_running(known))
        try:
            check_arguments(name, known.registration.signature, payload)
        except Refusal as refusal:
            if known.same_signature:
                raise
            english, chinese = _problem(name, refusal, "en"), _problem(name, refusal, "zh")
            warnings.append(build_bilingual_advisory("arguments_unsure", english, chinese))
        return tuple(warnings)

    def missing(self, target: Target) -> Advisory | None:
        """Return a warning if no running node has the function of a stored task.

        A node accepts only whole names and aliases.
        """
        name = function_of(target)
        if name is None:
            return None
        known = self.functions.get(self.aliases.get(name, name))
        if known is None:
            return self._unknown(name)
        return None if known.nodes else self._not_running(known)

    def _not_running(self, known: KnownFunction) -> Advisory:
        name, source = known.registration.name, known.registration.source
        node = self.draining.get(name)
        if node is not None:
            warning = build_advisory("function_draining", name=name, node=node, command=start_command(source))
        elif source is None:
            warning = build_advisory("function_not_running_anywhere", name=name)
        else:
            warning = build_advisory("function_not_running", name=name, command=start_command(source))
        return replace(warning, source=source)

    def _unknown(self, name: str) -> Advisory:
        if name in self.removed:
            advisory = build_advisory("function_removed", name=name, file=PurePath(self.removed[name]).name)
            return replace(advisory, source=module_source(self.removed[name]))
        nearest = self.nearest(name)
        if nearest is None:
            return build_advisory("function_unknown", name=name)
        return build_advisory("function_unknown_near", name=name, near=nearest)

    def nearest(self, name: str) -> str | None:
        return nearest_function(name, sorted(self.functions))


class Functions:
    """Registrations are records: `function` by name, and `node_functions` by node with digests of its declarations."""

    def __init__(self, store: FullStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._cache: tuple[float, FunctionCatalogue] | None = None

    # --- registration ----------------------------------------------------------------------------------------------

    async def register(
        self, principal: Principal, registrations: Sequence[Registration], former: Iterable[FormerName] = ()
    ) -> None:
        """Store the declarations of this process; the newest registration of a name counts.

        A name that its module no longer declares, and that no running node has, is dropped, unless it is a former name
        of a declared function: then it stays as an alias, because stored tasks use it.
        """
        refuse_agent(principal, "declared functions")
        principal.require_scope(Scope.ADMIN)
        if not registrations:
            return
        self._cache = None
        catalogue = await self.load()
        known = dict(catalogue.functions)
        declared = {each.name: each for each in registrations}
        for each in registrations:
            before = known.get(each.name)
            if before is None or not _is_same(before.registration, each):
                await self._put(each)
                if before is not None and before.nodes:
                    LOG.warning("running nodes declare the function %s differently: the newest counts", each.name)
        modules = {each.module for each in registrations}
        for former_name in former:
            if former_name.name not in declared and _is_former(former_name, known.get(former_name.name)):
                await self._put(
                    declared[former_name.current]._replace(name=former_name.name, alias_of=former_name.current)
                )
                del known[former_name.name]
            modules.update(former_name.modules)
        for name, old in known.items():
            if old.registration.module in modules and name not in declared and not old.nodes:
                await self._replace(Record(_REMOVED, name, "", json.dumps({"module": old.registration.module})))
                for dropped in (name, *(alias for alias, whole in catalogue.aliases.items() if whole == name)):
                    await self._drop(dropped)
        self._cache = None

    async def announce(self, node: str, home: str, registrations: Sequence[Registration]) -> None:
        """Record that this node has these functions, until it withdraws or its lease ends."""
        body = {
            "home": home,
            "functions": {each.name: [_signature_digest(each), _defaults_digest(each)] for each in registrations},
        }
        await self._replace(Record(_NODE_FUNCTIONS, node, "", json.dumps(body)))
        live_ids = {each.id for each in await self._store.nodes()}
        for record in await self._read_all(_NODE_FUNCTIONS):
            if record.key not in live_ids and record.key != node:
                await self._store.drop_record(_NODE_FUNCTIONS, record.key, record.version)
        self._cache = None

    async def withdraw(self, node: str) -> None:
        record = await self._store.get_record(_NODE_FUNCTIONS, node)
        if record is not None:
            await self._store.drop_record(_NODE_FUNCTIONS, node, record.version)
        self._cache = None

    async def _put(self, registration: Registration) -> None:
        removed = await self._store.get_record(_REMOVED, registration.name)
        if removed is not None:
            await self._store.drop_record(_REMOVED, registration.name, removed.version)
        body = json.dumps(registration_json(registration), default=str)
        await self._replace(Record(_FUNCTION, registration.name, "", body))

    async def _replace(self, record: Record) -> None:
        while True:
            known = await self._store.get_record(record.kind, record.key)
            if await self._store.put_record(record, replacing=None if known is None else known.version):
                return

    async def _drop(self, name: str) -> None:
        record = await self._store.get_record(_FUNCTION, name)
        if record is not None:
            await self._store.drop_record(_FUNCTION, name, record.version)

    # --- lookup ----------------------------------------------------------------------------------------------------

    async def by_node(self) -> dict[str, tuple[str, ...]]:
        """Return the names of announced functions, by node id and by node home."""
        functions: dict[str, tuple[str, ...]] = {}
        for record in await self._read_all(_NODE_FUNCTIONS):
            body = json.loads(record.body)
            names = tuple(sorted(body["functions"]))
            # A node that lost its lease and came back has another id in the same process.
            functions[record.key] = functions[body["home"]] = names
        return functions

    async def all(self, principal: Principal) -> tuple[KnownFunction, ...]:
        """Return every registered function, by name. Functions belong to the deployment, so every owner sees them."""
        principal.require_scope(Scope.READ)
        functions = (await self.load(fresh=True)).functions
        return tuple(functions[name] for name in sorted(functions))

    async def get(self, principal: Principal, name: str) -> KnownFunction:
        """Return one function; a unique name without its module is enough."""
        principal.require_scope(Scope.READ)
        function = (await self.load(fresh=True)).find(name)
        if function is None:
            raise refuse("no_such_function", name=name)
        return function

    async def resolve(self, request: TaskRequest) -> ResolvedRequest:
        """Apply the declaration of its function to a request; reads nothing for other targets."""
        if request.resolved or (function_of(request.target) is None and gate_function_of(request.options) is None):
            return ResolvedRequest(request)
        try:
            resolved = (await self.load()).resolve(request)
        except Refusal:
            return (await self.load(fresh=True)).resolve(request)
        return (await self.load(fresh=True)).resolve(request) if resolved.warnings else resolved

    async def check_edits(self, target: Target, payload: str, edits: Edits) -> tuple[Advisory, ...]:
        """Return warnings for a task that gets another target or payload; refused if its arguments cannot fit."""
        has_gate = gate_function_of(edits.options) is not None
        keeps_call = isinstance(edits.target, Keep) and isinstance(edits.payload, Keep)
        target = target if isinstance(edits.target, Keep) else edits.target
        payload = payload if isinstance(edits.payload, Keep) else edits.payload
        has_call = not keeps_call and function_of(target) is not None
        if not has_call and not has_gate:
            return ()
        catalogue = await self.load(fresh=True)
        return (*(catalogue.check(target, payload) if has_call else ()), *catalogue.check_gate(edits.options))

    async def complete_edits(self, target: Target, edits: Edits) -> Edits:
        """Complete an edit with the registered name of a new function and with its declaration."""
        if gate_function_of(edits.options) is not None:
            edits = edits._replace(options=(await self.load()).complete_gate(edits.options))
        if isinstance(edits.target, Keep) or function_of(edits.target) is None:
            return edits
        catalogue = await self.load()
        new = catalogue.complete(edits.target)
        edits = edits._replace(target=new)
        known = catalogue.find(function_of(new) or "")
        former = catalogue.find(function_of(target) or "")
        if known is None or known is former:
            return edits
        before = NO_DEFAULTS if former is None else former.registration.defaults
        return edits._replace(redeclared=DeclarationChange(before, known.registration.defaults))

    async def load(self, *, fresh: bool = False) -> FunctionCatalogue:
        now = self._clock.steady()
        if not fresh and self._cache is not None and now - self._cache[0] < _CACHE_SECONDS:
            return self._cache[1]
        catalogue = await self._load_catalogue()
        self._cache = now, catalogue
        return catalogue

    async def _load_catalogue(self) -> FunctionCatalogue:
        registrations = [read_registration(each.key, each.body) for each in await self._read_all(_FUNCTION)]
        removed = {each.key: str(json.loads(each.body)["module"]) for each in await self._read_all(_REMOVED)}
        if not registrations:
            return FunctionCatalogue(removed=removed)
        running, draining = await self._load_running()
        functions = {each.name: _with_node_counts(each, running) for each in registrations if each.alias_of is None}
        aliases = {each.name: each.alias_of for each in registrations if each.alias_of is not None}
        return FunctionCatalogue(functions, aliases, draining, removed)

    async def _load_running(self) -> tuple[list[dict[str, list[str]]], dict[str, str]]:
        """Return the functions of each node that holds a lease and is not draining; and those of draining nodes."""
        lease, now = await load_agreed_lease(self._store), self._clock.now()
        nodes = [each for each in await self._store.nodes() if now - each.renewed <= lease]
        # A node that lost its lease and came back has another id in the same process.
        by_name = {name: each for each in nodes for name in (each.id, each.home)}
        running: list[dict[str, list[str]]] = []
        draining: dict[str, str] = {}
        for record in await self._read_all(_NODE_FUNCTIONS):
            body = json.loads(record.body)
            node = by_name.get(record.key) or by_name.get(body["home"])
            if node is None:
                continue
            if node.draining:
                draining |= dict.fromkeys(body["functions"], node.id)
            else:
                running.append(body["functions"])
        return running, draining

    async def _read_all(self, kind: str) -> list[Record]:
        records: list[Record] = []
        after: str | None = None
        while True:
            page = await self._store.records(kind, None, after, MAX_PAGE_SIZE)
            records += page.items
            after = page.after
            if after is None:
                return records


def _with_node_counts(registration: Registration, running: Iterable[Mapping[str, list[str]]]) -> KnownFunction:
    digests = [each[registration.name] for each in running if registration.name in each]
    signature, defaults = _signature_digest(registration), _defaults_digest(registration)
    return KnownFunction(
        registration,
        len(digests),
        all(each[0] == signature for each in digests),
        all(each[1] == defaults for each in digests),
    )


def _is_former(former_name: FormerName, old: KnownFunction | None) -> bool:
    return old is not None and former_name.is_from(old.registration.module, running=bool(old.nodes))


def _signature_digest(registration: Registration) -> str:
    return digest(signature_json(registration.signature))


def _defaults_digest(registration: Registration) -> str:
    return digest(defaults_json(registration.defaults))


def _is_same(one: Registration, other: Registration) -> bool:
    return (
        one.module == other.module
        and _signature_digest(one) == _signature_digest(other)
        and _defaults_digest(one) == _defaults_digest(other)
    )


def _problem(name: str, refusal: Refusal, language: Language) -> dict[str, object]:
    return {"name": name, "problem": refusal.in_language(language).message.rstrip(".。")}


def start_command(source: str | None, verb: Literal["up", "worker"] = "up", path: str | None = None) -> str:
    """Return the command that starts a node with the functions of a file or module.

    Without `path`, only the name of a file is shown: it may be on another machine.
    """
    place = "FILE.py" if source is None else PurePath(source).name if source.endswith(".py") else source
    return f"horae {verb} {shlex.quote(place if path is None else path)}"


def nearest_function(name: str, known: Sequence[str]) -> str | None:
    """Return the closest name: the same with or without its module, or a similar one."""
    last = name.rpartition(".")[2]
    same = [each for each in known if each.rpartition(".")[2] == last]
    return next(iter(same or get_close_matches(name, known, 1)), None)


def complete_name(name: str, known: Iterable[str]) -> str | None:
    """Return the one name that is this one with a module before it; None if there is none or several."""
    matches = [each for each in known if each.endswith(f".{name}")]
    return matches[0] if len(matches) == 1 else None


def with_function(target: Target, name: str) -> Target:
    spec = {**json.loads(target.spec), "name": name}
    return target._replace(spec=json.dumps(spec, ensure_ascii=False, separators=(",", ":")))


def gate_function_of(options: Options) -> str | None:
    """Return the name of the function of a gate; None without a gate, or with one of another kind."""
    gate = options.gate
    return function_of(Target(gate.kind, gate.spec)) if isinstance(gate, Gate) else None


def function_of(target: Target) -> str | None:
    """Return the name of a target's function; None for other kinds, and for a spec that is refused elsewhere."""
    if target.kind != "function":
        return None
    try:
        spec = json.loads(target.spec)
    except ValueError:
        return None
    name = spec.get("name") if isinstance(spec, dict) else None
    return name if isinstance(name, str) else None


def apply_defaults(request: TaskRequest, defaults: Defaults) -> tuple[TaskRequest, tuple[str, ...]]:
    """Fill fields that the caller left out with the declared ones.

    Labels are one field: the caller's replace the declared.
    """
    filled: dict[str, Any] = {}
    for name in ("zone", "lane", "labels"):
        declared = getattr(defaults, name)
        if declared is not None and getattr(request, name) is None and name not in request.cleared:
            filled[name] = declared
    granted: tuple[str, ...] = (filled["lane"],) if "lane" in filled else ()
    if request.options.lanes is None:
        granted += tuple(defaults.options.lanes or ())
    options = request.options.merged_with(defaults.options)
    policies = _defaulted_policies(request.options, defaults.options)
    named = [name for name in filled if name in ("zone", "lane", "labels")]
    return request._replace(options=options, granted_lanes=granted, **filled), (*named, *policies)


def _defaulted_policies(chosen: Options, declared: Options) -> list[str]:
    names: dict[str, None] = {}
    for name, value, default in zip(Options._fields, chosen, declared, strict=True):
        if default is None:
            continue
        if name == "retries" and chosen.retry is not None and not _is_part_unset(chosen.retry, "attempts"):
            continue
        if value is None or _takes_default_parts(value, default):
            names["policies.retry" if name == "retries" else f"policies.{name}"] = None
    return list(names)


def _is_part_unset(value: Any, part: str) -> bool:
    return isinstance(value, RetryRequest) and getattr(value, part) is None


def _takes_default_parts(value: Any, default: Any) -> bool:
    if not isinstance(value, MissedRequest | RetryRequest) or type(value) is not type(default):
        return False
    return any(part is None and base is not None for part, base in zip(value, default, strict=True))
