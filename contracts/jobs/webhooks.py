"""The message that is posted to an account's address when its job is over. Source: Standard Webhooks 1.0."""

from __future__ import annotations

from typing import Literal

from contracts.jobs.values import Document, Instant, JobId

WebhookType = Literal["job.succeeded", "job.failed", "job.canceled"]


class JobReference(Document):
    """The job by its id alone; everything else is read from the API."""

    job_id: JobId


class WebhookMessage(Document):
    """The body of a webhook. `timestamp` is when the job ended."""

    type: WebhookType
    timestamp: Instant
    data: JobReference
