"""`horae show RUN --tree`: the chain that a run belongs to, with the state of each link."""

from __future__ import annotations

from ....model.reason import describe_reason
from ....service.runs.run_chain import ChainLink, RunChain, links_below
from ....state_names import state_name
from ....wire.runs import chain_json
from ...lookup import find_run
from ...output.printer import Printer
from ...output.styled_text import StyledText
from ...session.command_session import CommandSession, run_in_session


def show_run_tree(out: Printer, name: str) -> None:
    chain = run_in_session(out, lambda app: _load(app, name))
    if out.json:
        out.data(chain_json(chain))
    elif out.quiet:
        out.ids([link.run_id for link in chain.links if link.run_id is not None])
    else:
        out.line(_describe(out, chain.links[0]))
        _show_below(out, chain, chain.links[0], "")


async def _load(app: CommandSession, name: str) -> RunChain:
    found = await find_run(app, name)
    return await app.service.runs.chain(app.principal, found.run.id)


def _show_below(out: Printer, chain: RunChain, parent: ChainLink, indent: str) -> None:
    below = links_below(chain, parent)
    for number, link in enumerate(below, 1):
        is_last = number == len(below)
        out.line((f"{indent}{'└─ ' if is_last else '├─ '}", *_describe(out, link)))
        _show_below(out, chain, link, indent + ("   " if is_last else "│  "))


def _describe(out: Printer, link: ChainLink) -> tuple[str | StyledText, ...]:
    reason = "" if link.reason is None else f" ({describe_reason(link.reason, out.language)})"
    run = "" if link.run_id is None else f"  {link.run_id}"
    return (
        StyledText(link.name or link.task_id, "bold"),
        f"  {state_name(link.state, out.language)}{reason}",
        StyledText(run, "dim"),
    )
