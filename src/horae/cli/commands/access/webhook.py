"""`horae webhook`: creates, lists, tests, rotates and removes webhooks, and lists their deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import click

from ....choices import Language
from ....encryption.refusals import refuse as refuse_key
from ....errors import Refusal, Sentence
from ....model.events.webhook import NO_KEY, Delivery, DisabledCause, Webhook
from ....model.page import Page
from ....outgoing.refusals import NOT_PUBLIC
from ....runtime.process_settings import store_url
from ....runtime.stores import is_on_server
from ....service.tasks.advisories import Advisory
from ....wire.webhooks import blocked_refusal, delivery_json, webhook_json
from ...command import CommandGroup
from ...messages import account_messages as words
from ...messages.messages import TIMES_IN
from ...output.command_hints import note_next_page
from ...output.formats import NOTHING, first_line, full_time, time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...output.table import Fit
from ...parameters import after_option, limit_option, typed_limit
from ...session.command_session import CommandSession, has_store, run_in_session
from ...session.servers import server_of

_webhook_argument: Final = click.argument("webhook", metavar="WEBHOOK", help="Id of the webhook: whk_….")
_DISABLED = {DisabledCause.FAILING: "silent"}
"""`failing` names a webhook that still delivers; one that was disabled for it has another name."""
_FITS: Final[tuple[Fit, ...]] = (Fit(), Fit(wrap=20), Fit(3, wrap=8), Fit(1, wrap=8), Fit(2, cut=10))
_DELIVERY_FITS: Final = (Fit(), Fit(1, wrap=12), Fit(1), Fit(1), Fit(3), Fit(2, cut=12))
_DELIVERY_DIGITS: Final = 14
"""Digits of an id that hold the microseconds of its creation."""


webhook_commands: Final = CommandGroup("webhook", help="Send events to other systems.")


@webhook_commands.command("add")
@click.argument("url", metavar="URL", help="Address that receives the events: https://…")
@click.option(
    "--type", "kind", multiple=True, metavar="TYPE", help="run.failed, task.*; repeatable. Default: everything."
)
@click.option("--note", default="", help="A note about it.")
@click.option("--owner", help="Owner of the events. Default: you.")
def add(out: Printer, *, url: str, kind: tuple[str, ...], note: str, owner: str | None) -> None:
    """Send events to an address; its secret is shown only once."""
    types = [part.strip() for each in kind for part in each.split(",") if part.strip()]

    async def work(app: CommandSession) -> tuple[Webhook, str, tuple[Advisory, ...]]:
        try:
            made = await app.service.webhooks.create(app.principal, url, types, note, owner)
        except Refusal as refusal:
            raise with_key_hint(out, refusal) from None
        return *made, await app.webhook_advisories(url)

    webhook, secret, warnings = run_in_session(out, work, create=True)
    _show_secret(out, webhook, secret, out.translate(words.WEBHOOK_MADE, id=webhook.id))
    _show_advisories(out, warnings)


def with_key_hint(out: Printer, refusal: Refusal) -> Refusal:
    """Add to the first refusal that a store on a database server also needs a key file for webhooks."""
    if refusal.code != NOT_PUBLIC or server_of(out) is not None:
        return refusal
    if not is_on_server(store_url(out.settings)) or out.settings.value("key_file"):
        return refusal
    key = refuse_key("key_file_not_named")
    languages: tuple[Language, ...] = ("en", "zh")
    sentences = {}
    for each in languages:
        message, hint = refusal.in_language(each)
        also, separator = key.in_language(each).hint, " " if each == "en" else ""
        sentences[each] = Sentence(message, f"{hint}{separator}{also}")
    return type(refusal)(refusal.code, sentences, facts=refusal.facts)


def _show_advisories(out: Printer, warnings: tuple[Advisory, ...]) -> None:
    if not out.json:
        for warning in warnings:
            out.warn(warning.in_language(out.language))


@webhook_commands.command("ls")
@limit_option
@after_option
def ls(out: Printer, *, limit: int, after: str | None) -> None:
    """List webhooks."""

    async def work(app: CommandSession) -> tuple[Page[Webhook], str]:
        return await app.service.webhooks.page(app.principal, after, limit), app.zone

    page, zone = run_in_session(out, work) if has_store(out) else (Page[Webhook](()), "UTC")
    if out.json:
        out.data([webhook_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.id for each in page.items])
    elif page.items:
        names = out.short_ids(each.id for each in page.items)
        rows: list[list[Cell]] = [
            [names[each.id], each.url, _types(out, each), _state(out, each, zone), each.note] for each in page.items
        ]
        titles, fits = out.translate(words.WEBHOOK_TITLES).split("|"), _FITS
        if len({each.owner for each in page.items}) > 1:
            rows = [[row[0], each.owner, *row[1:]] for row, each in zip(rows, page.items, strict=True)]
            titles, fits = [titles[0], out.translate(words.OWNER), *titles[1:]], (fits[0], Fit(1, wrap=6), *fits[1:])
        out.table(titles, rows, fits)
        for each in page.items:
            _warn_blocked(out, each, names[each.id])
    if not page.items:
        out.note(words.NO_WEBHOOKS)
    if page.after is not None:
        note_next_page(out, "webhook ls", {"--limit": typed_limit(limit)}, page.after)


@webhook_commands.command("show")
@_webhook_argument
def show(out: Printer, *, webhook: str) -> None:
    """Show one webhook."""

    async def work(app: CommandSession) -> tuple[Webhook, str]:
        return await app.service.webhooks.get(app.principal, webhook), app.zone

    found, zone = run_in_session(out, work)
    if out.json:
        out.data(webhook_json(found))
    elif out.quiet:
        out.ids([found.id])
    else:
        titles = out.translate(words.WEBHOOK_TITLES).split("|")
        cells: list[Cell] = [found.id, found.url, _types(out, found), _state(out, found, zone), found.note or NOTHING]
        for title, cell in zip(titles, cells, strict=True):
            out.row(title, cell)
        _warn_blocked(out, found)


def _warn_blocked(out: Printer, webhook: Webhook, name: str = "") -> None:
    """Warn of the node setting that blocks deliveries; pending ones are sent once it is changed."""
    refusal = blocked_refusal(webhook) if webhook.enabled else None
    if refusal is not None:
        message, hint = refusal.in_language(out.language)
        out.warn(" ".join(part for part in (name, message, hint) if part))


def _types(out: Printer, webhook: Webhook) -> str:
    return " ".join(webhook.types) or out.translate(words.EVERYTHING)


def _state(out: Printer, webhook: Webhook, zone: str) -> StyledText:
    if webhook.disabled is not None:
        return StyledText(
            out.translate(words.WEBHOOK_STATES[_DISABLED.get(webhook.disabled, webhook.disabled.value)]), "bad"
        )
    if webhook.blocked:
        state = "unsigned" if NO_KEY in webhook.blocked else "blocked"
        return StyledText(out.translate(words.WEBHOOK_STATES[state]), "bad")
    if webhook.failing_since is not None:
        since = full_time(webhook.failing_since, zone, out.language)
        return StyledText(out.translate(words.WEBHOOK_STATES["failing"], since=since), "odd")
    return StyledText(out.translate(words.WEBHOOK_STATES["enabled"]), "good")


@webhook_commands.command("rotate")
@_webhook_argument
def rotate(out: Printer, *, webhook: str) -> None:
    """Give a webhook a new secret; for a day, both secrets sign."""

    async def work(app: CommandSession) -> tuple[Webhook, str, str]:
        return *await app.service.webhooks.rotate(app.principal, webhook), app.zone

    changed, secret, zone = run_in_session(out, work)
    until = NOTHING if changed.former_until is None else full_time(changed.former_until, zone, out.language)
    _show_secret(out, changed, secret, out.translate(words.WEBHOOK_ROTATED, id=changed.id, until=until))


def _show_secret(out: Printer, webhook: Webhook, secret: str, said: str) -> None:
    if out.json:
        out.data({**webhook_json(webhook), "secret": secret})
        return
    out.aside(said)
    out.line(secret)


@webhook_commands.command("test")
@_webhook_argument
def send_test(out: Printer, *, webhook: str) -> None:
    """Send a test message, and show the result."""

    async def work(app: CommandSession) -> tuple[Delivery, tuple[Advisory, ...]]:
        delivery = await app.service.webhooks.test(app.principal, webhook)
        found = await app.service.webhooks.get(app.principal, webhook)
        return delivery, await app.webhook_advisories(found.url)

    delivery, warnings = run_in_session(out, work)
    # This process sent the test; events are sent by a node.
    _show_advisories(out, warnings)
    _show_attempt(out, delivery)


@webhook_commands.command("deliveries")
@_webhook_argument
@limit_option
@after_option
def deliveries(out: Printer, *, webhook: str, limit: int, after: str | None) -> None:
    """List deliveries, newest first."""

    async def work(app: CommandSession) -> tuple[Page[Delivery], str, datetime]:
        return await app.service.webhooks.deliveries(app.principal, webhook, after, limit), app.zone, app.clock.now()

    page, zone, now = run_in_session(out, work)
    if out.json:
        out.data([delivery_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.id for each in page.items])
    elif page.items:
        names = out.short_ids((each.id for each in page.items), _DELIVERY_DIGITS)
        times = time_cells(out, [each.created for each in page.items], zone, now)
        rows = [_row(out, each, names[each.id], at) for each, at in zip(page.items, times, strict=True)]
        out.table(out.translate(words.DELIVERY_TITLES).split("|"), rows, _DELIVERY_FITS)
        if out.on_terminal:
            out.note(TIMES_IN, zone=zone)
    if not page.items:
        out.note(words.NO_DELIVERIES)
    if page.after is not None:
        note_next_page(out, "webhook deliveries", {"webhook": webhook, "--limit": typed_limit(limit)}, page.after)


def _row(out: Printer, delivery: Delivery, name: str, at: str) -> list[Cell]:
    last = delivery.attempts[-1] if delivery.attempts else None
    answer = NOTHING if last is None else f"{last.status or ''} {first_line(last.answer)}".strip()
    return [
        name,
        delivery.kind,
        at,
        out.translate(words.DELIVERY_STATES[delivery.state.value]),
        str(len(delivery.attempts)),
        answer,
    ]


@webhook_commands.command("redeliver")
@_webhook_argument
@click.argument("delivery", metavar="DELIVERY", help="Id of the delivery: dlv_….")
def redeliver(out: Printer, *, webhook: str, delivery: str) -> None:
    """Send a delivery again, now."""
    _show_attempt(
        out, run_in_session(out, lambda app: app.service.webhooks.redeliver(app.principal, webhook, delivery))
    )


def _show_attempt(out: Printer, delivery: Delivery) -> None:
    """Print the last attempt; exit code 1 where it failed."""
    last = delivery.attempts[-1]
    if out.json:
        out.data(delivery_json(delivery))
    elif out.quiet:
        out.ids([delivery.id])
    elif last.ok:
        out.line((StyledText("✓ ", "good"), out.translate(words.ANSWERED, id=delivery.id, status=last.status)))
    else:
        said = words.NOT_ANSWERED if last.status is None else words.ANSWERED
        text = out.translate(said, id=delivery.id, status=last.status, answer=first_line(last.answer))
        out.line((StyledText("✕ ", "bad"), text))
    if not last.ok:
        raise click.exceptions.Exit(1)


@webhook_commands.command("rm", asks=True)
@_webhook_argument
def remove(out: Printer, *, webhook: str) -> None:
    """Remove a webhook."""
    found = run_in_session(out, lambda app: app.service.webhooks.get(app.principal, webhook))
    out.confirm(words.REMOVE_WEBHOOK, id=found.id)
    run_in_session(out, lambda app: app.service.webhooks.remove(app.principal, found.id))
    if out.json:
        out.data({"removed": found.id})
    else:
        out.line(("✓ ", out.translate(words.WEBHOOK_GONE, id=found.id)))
