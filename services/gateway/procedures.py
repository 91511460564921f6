"""The table of procedures: the whole surface of the extension's protocol on one page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from contracts.rpc.observation import ObservedVersion, RegisteredVersion
from contracts.rpc.record import (
    ListAnswer,
    ListQuestion,
    MetricsAnswer,
    MetricsQuestion,
    PostQuestion,
    PostRecord,
    RecordQuestion,
    RecordResult,
)
from contracts.rpc.status import (
    BatchAnswer,
    BatchQuestion,
    InvestigatedAt,
    InvestigateNowAnswer,
    InvestigationId,
    InvestigationStatus,
    SettingsAnswer,
    VersionId,
    ViewStatus,
)
from services.gateway.investigate import Requests
from services.gateway.keys import KeyChecks
from services.gateway.observe import Registration
from services.gateway.ports import Call
from services.gateway.record import PublicRecord
from services.gateway.status import Statuses, Viewing

Handler = Callable[[Any, Call], Awaitable[BaseModel | bytes | None]]


@dataclass(frozen=True)
class Procedure:
    """One procedure.

    `methods` are the HTTP methods it answers; `question` is None if it takes no input; `durable` is the kind of
    answer that never changes and may be kept by a browser; `versioned` means that only an extension may ask, and not
    one that is too old. A handler's bytes are an answer already written.
    """

    name: str
    kind: Literal["query", "mutation"]
    question: TypeAdapter[Any] | None
    answer: TypeAdapter[Any]
    handle: Handler
    methods: frozenset[str]
    durable: type[BaseModel] | None = None
    versioned: bool = True


def _mutation(name: str, question: Any, answer: Any, handle: Handler) -> Procedure:
    return Procedure(name, "mutation", TypeAdapter(question), TypeAdapter(answer), handle, frozenset({"POST"}))


def _query(
    name: str,
    question: Any,
    answer: Any,
    handle: Handler,
    *,
    also: Iterable[str] = (),
    durable: type[BaseModel] | None = None,
) -> Procedure:
    shape = None if question is None else TypeAdapter(question)
    return Procedure(name, "query", shape, TypeAdapter(answer), handle, frozenset({"GET", *also}), durable)


def _public(name: str, question: Any, answer: Any, handle: Handler) -> Procedure:
    return replace(_query(name, question, answer, handle), versioned=False)


def public_procedures(record: PublicRecord) -> Mapping[str, Procedure]:
    """The public record by its older names, for anybody."""
    table = (
        _public("public.getInvestigation", RecordQuestion, RecordResult | None, record.investigation),
        _public("public.getPostInvestigations", PostQuestion, PostRecord, record.of_post),
        _public("public.searchInvestigations", ListQuestion, ListAnswer, record.listed),
        _public("public.getMetrics", MetricsQuestion, MetricsAnswer, record.metrics),
    )
    return {procedure.name: procedure for procedure in table}


def procedures(
    registration: Registration, viewing: Viewing, statuses: Statuses, requests: Requests, key_checks: KeyChecks
) -> Mapping[str, Procedure]:
    """Every procedure by its path. `post.batchStatus` also takes a POST, since its longest question strains a URL."""
    table = (
        _mutation("post.registerObservedVersion", ObservedVersion, RegisteredVersion, registration.register),
        _mutation("post.recordViewAndGetStatus", VersionId, ViewStatus, viewing.record),
        _query(
            "post.getInvestigation",
            InvestigationId,
            InvestigationStatus,
            statuses.investigation,
            durable=InvestigatedAt,
        ),
        _mutation("post.investigateNow", VersionId, InvestigateNowAnswer, requests.investigate),
        _query("post.validateSettings", None, SettingsAnswer, key_checks.validate),
        _query("post.batchStatus", BatchQuestion, BatchAnswer, statuses.batch, also=("POST",)),
    )
    return {procedure.name: procedure for procedure in table}
