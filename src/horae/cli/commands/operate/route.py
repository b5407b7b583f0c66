"""`horae route`: router in front of several deployments, in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...command import Command
from ...messages import operating_messages as words
from ...output.printer import Printer
from .up import host_option, port_option, socket_option, unix_socket

if TYPE_CHECKING:
    from ....router.deployment_map import DeploymentMap


@click.command("route", cls=Command, local_only=True)
@port_option
@host_option
@socket_option
@click.option("--check", is_flag=True, help="Only check the map in horae.toml, and show it.")
def route(out: Printer, *, port: int | None, host: str | None, socket_path: Path | None, check: bool) -> None:
    """Forward requests to the deployment of each owner, until Ctrl-C."""
    from ....router.deployment_map import read_deployment_map  # noqa: PLC0415 - `--help` does without
    from ....runtime.http_server import check_libraries  # noqa: PLC0415
    from ...session.servers import is_plain_http_allowed  # noqa: PLC0415

    check_libraries()
    found = read_deployment_map(out.settings, plain_http=is_plain_http_allowed(out.settings))
    if check:
        _show_map(out, found)
        return
    _serve(out, found, host, port, socket_path)


def _serve(out: Printer, found: DeploymentMap, host: str | None, port: int | None, socket_path: Path | None) -> None:
    from ....node.api_server import listen_address, open_api_socket  # noqa: PLC0415 - `--help` does without
    from ....node.event_loop import run_fast  # noqa: PLC0415
    from ....node.router_server import run_router  # noqa: PLC0415
    from ....web.trusted_proxies import read_trusted_proxies  # noqa: PLC0415
    from ...output.terminal_log import configure_node_log  # noqa: PLC0415
    from ...session.open_store import process_zone  # noqa: PLC0415

    settings = out.settings
    configure_node_log(out, settings, process_zone(None, settings).name)
    address = listen_address(settings, host, port)._replace(chosen=True)
    trusted = read_trusted_proxies(settings.value("trusted_proxies"))

    def on_ready(url: str) -> None:
        if out.json:
            out.each(_map_json(found, "router.ready", url))
        else:
            out.line(out.translate(words.ROUTER_READY, url=url, names=", ".join(found.deployments)), flush=True)

    with open_api_socket(address, lambda _why: None) as listener, unix_socket(socket_path) as local:
        if listener is not None:
            run_fast(run_router(found, trusted, (listener, local), on_ready))


def _show_map(out: Printer, found: DeploymentMap) -> None:
    if out.json:
        out.data(_map_json(found, "router.map", None))
        return
    rows = [[owner, name, found.deployments[name].url] for owner, name in found.lines.items()]
    out.table(out.translate(words.ROUTE_TITLES).split("|"), rows)


def _map_json(found: DeploymentMap, kind: str, url: str | None) -> dict[str, Any]:
    return {
        "type": kind,
        "url": url,
        "deployments": [{"name": each.name, "url": each.url} for each in found.deployments.values()],
        "owners": [{"owner": owner, "deployment": name} for owner, name in found.lines.items()],
    }
