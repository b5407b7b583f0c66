"""Former names of functions: registrations of the same function become aliases."""

from __future__ import annotations

from typing import Final

import pytest

from horae.model.accounts.principal import LOCAL
from horae.service.tasks.functions.functions import FunctionCatalogue
from horae.service.tasks.functions.records import NO_DEFAULTS, FormerName, Registration, Signature
from horae.testing.factories import NOON
from tests.unit.service.service_harness import ServiceHarness

JOBS: Final = "/srv/new/jobs.py"
FORMER: Final = FormerName("report", "jobs.report", (JOBS, "jobs"))


def registration(name: str, module: str) -> Registration:
    return Registration(name, module, Signature(), NO_DEFAULTS, NOON)


async def _registered(module: str) -> FunctionCatalogue:
    functions = ServiceHarness().service.functions
    await functions.register(LOCAL, [registration("report", module)])
    await functions.register(LOCAL, [registration("jobs.report", JOBS)], [FORMER])
    await functions.register(LOCAL, [registration("jobs.report", JOBS)], [FORMER])
    return await functions.load(fresh=True)


@pytest.mark.parametrize("module", [JOBS, "jobs", "/srv/old/jobs.py"])
async def test_registration_of_the_same_module_becomes_an_alias(module: str) -> None:
    catalogue = await _registered(module)
    assert catalogue.aliases == {"report": "jobs.report"}
    assert list(catalogue.functions) == ["jobs.report"]
    assert catalogue.whole_name("report") == "jobs.report"


@pytest.mark.parametrize("module", ["/srv/new/night.py", "night", "__main__"])
async def test_registration_of_another_module_is_unchanged(module: str) -> None:
    catalogue = await _registered(module)
    assert catalogue.aliases == {}
    assert sorted(catalogue.functions) == ["jobs.report", "report"]
    assert catalogue.whole_name("report") == "report"


@pytest.mark.parametrize(("module", "same"), [(JOBS, True), ("/srv/old/jobs.py", False)])
def test_file_with_the_same_name_is_another_registration_while_nodes_use_it(module: str, *, same: bool) -> None:
    assert FORMER.is_from(module, running=True) is same


async def _forgotten() -> FunctionCatalogue:
    functions = ServiceHarness().service.functions
    await functions.register(LOCAL, [registration("report", JOBS)])
    await functions.register(LOCAL, [registration("jobs.report", JOBS)], [FORMER])
    await functions.register(LOCAL, [registration("jobs.other", JOBS)])
    return await functions.load(fresh=True)


async def test_alias_is_deleted_with_its_function() -> None:
    found = await _forgotten()
    assert found._replace(removed={}) == FunctionCatalogue({"jobs.other": found.functions["jobs.other"]})
    assert found.removed == {"jobs.report": "/srv/new/jobs.py"}
