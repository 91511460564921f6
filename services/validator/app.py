"""The validator, put together."""

from __future__ import annotations

from contracts.topology import VALIDATOR_CLAIM_PROPOSED
from kit.host import Host
from kit.settings import load
from services.validator.adapters import LogRuns
from services.validator.handlers import Validator
from services.validator.settings import ValidatorSettings


async def build(host: Host) -> None:
    """Subscribe the handler."""
    settings = load(ValidatorSettings)
    validator = Validator(LogRuns(host.bus), host.blobs, host.user_keys, host.model)
    host.delivery.subscribe(
        VALIDATOR_CLAIM_PROPOSED, validator.on_claim_proposed, slots=settings.slots, given_up=validator.on_given_up
    )
