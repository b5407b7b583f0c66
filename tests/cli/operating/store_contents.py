"""Contents of a deployment's store: task definitions, names and secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from horae.wire.tasks.task import task_json
from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment


def task_definitions(deployment: Deployment) -> dict[str, dict[str, Any]]:
    async def read(app: Any) -> dict[str, dict[str, Any]]:
        page = await app.service.tasks.page(app.who)
        return {facts.task.name: task_json(facts) for facts in page.items}

    return deployment.call_library(read)


def task_names(deployment: Deployment) -> list[str]:
    return sorted(task.name for task in deployment.call_library(lambda app: app.tasks()))


def reveal_secret(deployment: Deployment, name: str) -> str | None:
    return deployment.call_library(lambda app: app.service.secrets.reveal("local", name))


def deployment_of(cli: Cli) -> Deployment:
    """Return a deployment on the store of `cli`."""
    found = Deployment(Path(cli.directory))
    found.url = cli.url
    return found
