"""Verifies that a message at the end of a job is the server's. Source: Standard Webhooks 1.0."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from standardwebhooks import Webhook, WebhookVerificationError
from standardwebhooks.webhooks import EmptyWebhookSecretError

from openerrata_client.documents import Answer, OpenErrataError


class WebhookError(OpenErrataError):
    """The message is not the server's, or older than five minutes. Answer 400, and do nothing else."""


class _Job(Answer):
    job_id: str


class WebhookMessage(Answer):
    """The end of a job. `id`: the same for every try of one message."""

    id: str
    type: Literal["job.succeeded", "job.failed", "job.canceled"] | str
    timestamp: datetime
    data: _Job

    @property
    def job_id(self) -> str:
        """The id of the job that ended."""
        return self.data.job_id


def verify_webhook(headers: Mapping[str, str], body: bytes, secrets: str | Sequence[str]) -> WebhookMessage:
    """Verify a message and read it. `secrets`: one, or both while they are changed; as the operator gave them.

    Raises: WebhookError.
    """
    plain = {name.lower(): value for name, value in headers.items()}
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        try:
            Webhook(secret).verify(body, plain, json_parse=False)
        except (WebhookVerificationError, EmptyWebhookSecretError, ValueError):  # ValueError: it is no base64
            continue
        try:
            return WebhookMessage.model_validate({**json.loads(body), "id": plain["webhook-id"]})
        except (TypeError, ValueError):
            raise WebhookError("The message is signed, and cannot be read.") from None
    raise WebhookError("The message is not signed with any of these secrets, or not within the last five minutes.")
