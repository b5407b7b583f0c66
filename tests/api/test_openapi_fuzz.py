"""Every operation of the document, with whatever the document allows and with what it does not, as two owners: no answer is
a failure of ours, none is unlike the document, and nothing of one owner is ever told to the other."""

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
from tests.api.api_thread import Remote, served_in_thread

EXAMPLES: Final = 2
MARK: Final = "zq-only-bob-knows"
CHECKS: Final[list[Any]] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_BOBS: Final = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_no_operation_breaks_leaks_or_answers_otherwise_than_documented() -> None:
    with served_in_thread() as remote:
        names = remote.do(_things_of_bob(remote))
        document = remote.do(remote.api.get("/openapi.json", who=None)).json
        schema = schemathesis.openapi.from_dict(document)
        failures: list[str] = []
        asked = 0
        for found in schema.get_all_operations():
            operation: Any = found.ok()  # type: ignore[union-attr]  # the document itself is sound
            try:
                asked += _fuzz(remote, operation, names)
            except (FailureGroup, AssertionError) as failure:
                failures.append(f"{operation.label}: {failure}")
        assert not failures, "\n".join(failures)
        assert asked > 250
        remote.do(_still_bobs(remote, names))


async def _things_of_bob(remote: Remote) -> dict[str, str]:
    api = remote.api
    task = await api.made("bob", name=MARK, labels={"mark": MARK}, payload={"mark": MARK})
    token = (await api.post("/v1/tokens", {"name": MARK}, who="bob")).json
    await api.put(f"/v1/secrets/{MARK}", {"value": MARK}, who="bob")
    hook = (await api.post("/v1/webhooks", {"url": f"https://example.org/{MARK}"}, who="bob")).json
    await api.put(f"/v1/lanes/{MARK}", {"limit": 2}, who="bob")
    await api.put("/v1/tasks/by-key/k", {**TASK, "name": MARK}, who="bob")
    return {"task_id": task["id"], "uuid": task["id"], "token_id": token["id"], "webhook_id": hook["id"]}


async def _still_bobs(remote: Remote, names: dict[str, str]) -> None:
    """Whatever was tried, nothing of his was touched."""
    task = (await remote.api.get(f"/v1/tasks/{names['task_id']}", who="bob")).json
    assert (task["name"], task["state"], task["version"]) == (MARK, "active", 1)
    assert (await remote.api.get(f"/v1/tokens/{names['token_id']}", who="bob")).json["revoked"] is None
    assert len((await remote.api.get("/v1/secrets", who="bob")).json["items"]) == 1


def _fuzz(remote: Remote, operation: Any, names: dict[str, str]) -> int:
    """How often it was asked: with fitting data, with unfitting data, and with what is somebody else's in the path."""
    asked = 0
    session = requests.Session()
    headers = {"Authorization": f"Bearer {remote.api.tokens['ada']}"}

    def ask(case: Case[Any]) -> None:
        nonlocal asked
        for part, name in names.items():
            # Every other one tries what is bob's.
            if asked % 2 and part in (case.path_parameters or {}):
                case.path_parameters[part] = name
        asked += 1
        response = case.call(base_url=remote.api.base, headers=headers, session=session, timeout=20)
        case.validate_response(response, checks=CHECKS)
        sent = str(case.body) + str(case.query) + str(case.path_parameters)
        assert MARK in sent or MARK not in response.text, (operation.label, response.text)

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        strategy = operation.as_strategy(generation_mode=mode)
        # Where nothing can be said, nothing can be said wrongly.
        with suppress(Unsatisfiable):
            seed(20_261_116)(_BOBS(given(case=strategy)(ask)))()
    session.close()
    return asked
