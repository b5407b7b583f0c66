"""Command line on MariaDB: doctor and `up`."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment


def test_doctor_describes_mariadb(tmp_path: Path, mariadb_url: str) -> None:
    cli = Cli(tmp_path)
    cli.url = mariadb_url
    assert cli("db", "upgrade", "--json").json["before"] == 0
    assert cli("add", "every 1h", "--say", "x").code == 0
    done = cli("doctor")
    assert done.code == 0, done.out
    for output in ("Store: MariaDB ", "tables horae_…", "innodb_flush_log_at_trx_commit 1", "mariadb-dump", "asyncmy"):
        assert output in done.out
    assert cli("db", "backup", "copy.db").code == 6


def test_task_runs_on_mariadb(tmp_path: Path, mariadb_url: str) -> None:
    deployment = Deployment(tmp_path)
    deployment.url = mariadb_url
    try:
        up = deployment.up("--demo")
        assert "MariaDB " in up.expect("Data")
        up.expect("demo-tick")
        up.signal(signal.SIGTERM)
        assert up.ends() == 0
    finally:
        deployment.end()
