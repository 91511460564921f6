"""`openerrata labels`: the records that an operator publishes to make this instance a labeler."""

from __future__ import annotations

import json
from typing import Final

import click

from kit.clock import SystemClock
from kit.settings import LabelerSettings, load
from services.commands.shared import Group, handle_errors
from services.curator.labelling import ERRATUM
from services.gateway.labels import Labeler
from services.gateway.settings import GatewaySettings

_WORDS: Final = {
    "en": ("Erratum", "A sentence of this exact post was checked and refuted; the finding and its sources are public."),
    "de": (
        "Erratum",
        "Ein Satz genau dieses Beitrags wurde geprüft und widerlegt; Befund und Quellen sind öffentlich.",
    ),
}


@click.group(cls=Group)
def command() -> None:
    """Labels of the AT Protocol on posts whose errata are published.

    \b
    openerrata labels describe
    """


@command.command()
@handle_errors
def describe() -> None:
    """Print what makes this instance a labeler: parts of its DID document, and the record of its service.

    Needs OPENERRATA_LABELER_DID, OPENERRATA_LABELER_KEY and OPENERRATA_GATEWAY_PUBLIC_URL.
    """
    settings, endpoint = load(LabelerSettings), load(GatewaySettings).public_url
    needed = {
        "OPENERRATA_LABELER_DID": settings.did,
        "OPENERRATA_LABELER_KEY": settings.key,
        "OPENERRATA_GATEWAY_PUBLIC_URL": endpoint,
    }
    missing = [name for name, value in needed.items() if not value]
    if missing:
        raise click.ClickException(f"set {', '.join(missing)} first")
    labeler = Labeler.of(settings)
    assert labeler is not None
    document = {
        "verificationMethod": {
            "id": f"{labeler.did}#atproto_label",
            "type": "Multikey",
            "controller": labeler.did,
            "publicKeyMultibase": labeler.key.multibase,
        },
        "service": {"id": "#atproto_labeler", "type": "AtprotoLabeler", "serviceEndpoint": endpoint.rstrip("/")},
    }
    definition = {
        "identifier": ERRATUM,
        "severity": "inform",
        "blurs": "none",
        "defaultSetting": "warn",
        "locales": [{"lang": lang, "name": name, "description": text} for lang, (name, text) in _WORDS.items()],
    }
    record = {
        "$type": "app.bsky.labeler.service",
        "policies": {"labelValues": [ERRATUM], "labelValueDefinitions": [definition]},
        "subjectTypes": ["record"],
        "subjectCollections": ["app.bsky.feed.post"],
        "createdAt": SystemClock().now().isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    found = {"document": document, "app.bsky.labeler.service/self": record}
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))
