from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
import pytest
pytest.register_assert_rewrite("horae.testing.contracts")
from tests.model_based import mariadb_machine, postgres_machine
def test_it(mariadb_server):
    run_state_machine_as_test(mariadb_machine.machine_on(mariadb_server), settings=settings(max_examples=60, derandomize=False, stateful_step_count=50, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)))
