"""Fuzz of every documented operation as two owners: no 5xx, no response that contradicts the document, no data of the
other owner."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.api_server import TASK
from tests.api.api_thread import Remote, serve_api_in_thread

EXAMPLES: Final = 2
MARK: Final = "zq-only-bob-knows"
CHECKS: Final[list[Any]] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_FUZZ_SETTINGS: Final = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_fuzzed_operations_neither_fail_nor_leak_nor_contradict_the_document() -> None:
    with serve_api_in_thread() as remote:
        names = remote.run(_create_resources_of_bob(remote))
        document = remote.run(remote.api.get("/openapi.json", who=None)).json
        schema = schemathesis.openapi.from_dict(document)
        failures: list[str] = []
        sent_requests = 0
        for found in schema.get_all_operations():
            operation: Any = found.ok()  # type: ignore[union-attr]  # the document itself is valid
            try:
                sent_requests += _fuzz(remote, operation, names)
            except (FailureGroup, AssertionError) as failure:
                failures.append(f"{operation.label}: {failure}")
        assert not failures, "\n".join(failures)
        assert sent_requests > 250
        remote.run(_check_resources_of_bob(remote, names))


async def _create_resources_of_bob(remote: Remote) -> dict[str, str]:
    api = remote.api
    task = await api.create_task("bob", name=MARK, labels={"mark": MARK}, payload={"mark": MARK})
    token = (await api.post("/v1/tokens", {"name": MARK}, who="bob")).json
    await api.put(f"/v1/secrets/{MARK}", {"value": MARK}, who="bob")
    hook = (await api.post("/v1/webhooks", {"url": f"https://example.org/{MARK}"}, who="bob")).json
    await api.put(f"/v1/lanes/{MARK}", {"limit": 2}, who="bob")
    await api.put("/v1/tasks/by-key/k", {**TASK, "name": MARK}, who="bob")
    return {"task_id": task["id"], "uuid": task["id"], "token_id": token["id"], "webhook_id": hook["id"]}


async def _check_resources_of_bob(remote: Remote, names: dict[str, str]) -> None:
    """Check that no request of ada changed a resource of bob."""
    task = (await remote.api.get(f"/v1/tasks/{names['task_id']}", who="bob")).json
    assert (task["name"], task["state"], task["version"]) == (MARK, "active", 1)
    assert (await remote.api.get(f"/v1/tokens/{names['token_id']}", who="bob")).json["revoked"] is None
    assert len((await remote.api.get("/v1/secrets", who="bob")).json["items"]) == 1


def _fuzz(remote: Remote, operation: Any, names: dict[str, str]) -> int:
    """Send valid and invalid requests, every second one with ids of bob; return how many were sent."""
    sent_requests = 0
    session = requests.Session()
    headers = {"Authorization": f"Bearer {remote.api.tokens['ada']}"}

    def send(case: Case[Any]) -> None:
        nonlocal sent_requests
        for part, name in names.items():
            # Every second request names resources of bob.
            if sent_requests % 2 and part in (case.path_parameters or {}):
                case.path_parameters[part] = name
        sent_requests += 1
        response = case.call(base_url=remote.api.base, headers=headers, session=session, timeout=60)
        case.validate_response(response, checks=CHECKS)
        sent = str(case.body) + str(case.query) + str(case.path_parameters)
        assert MARK in sent or MARK not in response.text, (operation.label, response.text)

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        strategy = operation.as_strategy(generation_mode=mode)
        # An operation without parameters and body has no invalid requests.
        with suppress(Unsatisfiable):
            seed(20_261_116)(_FUZZ_SETTINGS(given(case=strategy)(send)))()
    session.close()
    return sent_requests
