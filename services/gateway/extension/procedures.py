"""The table of the extension's procedures."""

from __future__ import annotations

from collections.abc import Mapping

from contracts.rpc.observation import RegisteredVersion
from contracts.rpc.status import (
    BatchAnswer,
    BatchQuestion,
    DatedInvestigated,
    InvestigateNowAnswer,
    InvestigationId,
    InvestigationStatus,
    PostHint,
    SettingsAnswer,
    VersionId,
    ViewStatus,
)
from platforms import ObservedVersion
from services.gateway.extension.hints import Hints
from services.gateway.extension.investigate import Requests
from services.gateway.extension.observe import Registration
from services.gateway.extension.status import Statuses, Viewing
from services.gateway.keys import KeyChecks
from services.gateway.procedure import Procedure, anonymous_mutation, mutation, query


def procedures(
    registration: Registration,
    viewing: Viewing,
    statuses: Statuses,
    requests: Requests,
    key_checks: KeyChecks,
    hints: Hints,
) -> Mapping[str, Procedure]:
    """Every procedure by its path. `post.batchStatus` also accepts POST, since its longest input may not fit a URL."""
    table = (
        mutation("post.registerObservedVersion", ObservedVersion, RegisteredVersion, registration.register),
        mutation("post.recordViewAndGetStatus", VersionId, ViewStatus, viewing.record),
        query(
            "post.getInvestigation",
            InvestigationId,
            InvestigationStatus,
            statuses.investigation,
            durable=DatedInvestigated,
        ),
        mutation("post.investigateNow", VersionId, InvestigateNowAnswer, requests.investigate),
        query("post.validateSettings", None, SettingsAnswer, key_checks.validate),
        query("post.batchStatus", BatchQuestion, BatchAnswer, statuses.batch, also=("POST",)),
        anonymous_mutation("post.hint", PostHint, None, hints.take),
    )
    return {procedure.name: procedure for procedure in table}
