"""Builds the validator."""

from __future__ import annotations

from functools import partial

import structlog

from analyses.gates import RULES
from analyses.opinion import PROMPT
from contracts.topology import VALIDATOR_CLAIM_PROPOSED
from contracts.v1.gates import OpinionPolicy
from kit.documents.reading import Reader
from kit.host import Host
from kit.model_settings import ChatSettings, ModelSettings, OpenAISettings
from kit.models.choice import choose_opinion
from kit.settings import DisplaySettings, GateSettings, load
from kit.sources import Pages
from kit.web import GuardedHttpClient, Policy
from kit.web.contact import warn_of_no_contact
from services.validator.adapters import LogRuns
from services.validator.calibration import read_thresholds
from services.validator.ends import EndedRounds
from services.validator.handlers import Validator
from services.validator.opinion import SecondOpinion
from services.validator.ports import Sources
from services.validator.settings import OpinionSettings, ValidatorSettings
from services.validator.sources import PageSources, UncheckedSources, read_words

log = structlog.get_logger(__name__)


async def build(host: Host) -> None:
    """Subscribe the handler."""
    settings = load(ValidatorSettings)
    warn_of_no_contact("VALIDATOR", settings.contact_url)
    demo = host.model.labelled_demo
    gates = load(GateSettings)
    opinion, believed = (None, None) if demo else _second_opinion(host)
    ends = EndedRounds(host.bus)
    host.keep_running("validator-ends", ends.run)
    validator = Validator(
        LogRuns(host.bus, ends),
        host.blobs,
        host.user_keys,
        host.model,
        UncheckedSources() if demo else _page_sources(host, settings),
        host.clock,
        unchecked_allowed=demo or settings.unchecked_sources == "allow",
        policy=None if demo else gates.policy(RULES, settings.own_hosts, believed),
        opinion=opinion,
        hold=load(DisplaySettings).hold,
    )
    host.delivery.subscribe(
        VALIDATOR_CLAIM_PROPOSED, validator.on_claim_proposed, slots=settings.slots, on_exhausted=validator.on_exhausted
    )


def _second_opinion(host: Host) -> tuple[SecondOpinion | None, OpinionPolicy | None]:
    """The model that is asked for one, and from which answer on it is believed. Raises: SettingsError."""
    settings = load(OpinionSettings)
    if settings.model is None:
        return None, None
    settings.require_other_family(host.model.name, load(ModelSettings))
    chat = load(ChatSettings)
    if settings.base_url is not None:
        chat = chat.model_copy(update={"base_url": settings.base_url, "api_key": settings.api_key})
    model = choose_opinion(settings.model, load(OpenAISettings), chat)
    thresholds = read_thresholds(settings.calibration, model.name.model, PROMPT.version) if settings.calibration else ()
    if not thresholds:
        log.warning("nothing passes the second opinion: no language has a threshold", model=model.name.model)
    opinion = SecondOpinion(model, host.blobs, alternatives=settings.logprobs)
    return opinion, OpinionPolicy(family=settings.family, thresholds=thresholds)


def _page_sources(host: Host, settings: ValidatorSettings) -> Sources:
    http = GuardedHttpClient(
        Policy(
            contact_url=settings.contact_url,
            timeout_s=settings.page_s,
            max_bytes=settings.page_bytes,
            exempt_origins=frozenset({settings.page_origin} if settings.page_origin else ()),
        )
    )
    pages = Pages(http, partial(read_words, Reader(), own_hosts=settings.own_hosts), host.clock, archive=host.blobs)
    host.on_close(http.close)
    host.on_close(pages.close)
    return PageSources(pages, host.telemetry.registry)
