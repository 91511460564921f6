"""Webhooks: a message at a job's end, sent again by the job's age until it is received or the tries are used up.

The age decides when the next try is due, not the number of deliveries: an outage of ours uses up no try.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import structlog

from contracts.jobs.words import RequestWords
from contracts.v1 import Event, JobEnded
from kit.clock import Clock
from kit.errors import Outage, Retry
from services.curator.domain import EndedJob, wait_at, write_message
from services.curator.ports import Hooks, Log, Metrics, Secrets, Texts

LOG_LAG_S: Final = 0.2

log = structlog.get_logger(__name__)


class Webhooks:
    """Sends the messages that accounts asked for."""

    def __init__(self, log_: Log, texts: Texts, secrets: Secrets, hooks: Hooks, metrics: Metrics, clock: Clock) -> None:
        self._log = log_
        self._texts = texts
        self._secrets = secrets
        self._hooks = hooks
        self._metrics = metrics
        self._clock = clock

    async def on_job_ended(self, event: JobEnded, delivery_count: int) -> AsyncIterator[Event]:
        """Send the job's message, if its account asked for one. Raises: Retry: the message was not received."""
        job = await self._log.ended_job(event.job_id)
        if job is None:
            raise Outage(LOG_LAG_S, "the log does not show the job yet")
        if job.requested.has_webhook:
            outcome = await self._send(event, job)
            self._metrics.count_webhook(outcome)
            wait_s = wait_at((self._clock.now() - job.ended_at).total_seconds()) if outcome == "failed" else None
            if wait_s is not None:
                raise Retry(wait_s, "the webhook was not received")
            log.info("webhook settled", job=str(event.job_id), outcome=outcome)
            if event.outcome == "CANCELED":  # the last thing that needed its words
                await self._texts.remove(job.requested.input)
        nothing: tuple[Event, ...] = ()
        for event_ in nothing:
            yield event_

    async def _send(self, event: JobEnded, job: EndedJob) -> str:
        try:
            words = RequestWords.model_validate_json(await self._texts.get(job.requested.input))
        except LookupError:
            return "expired"
        secrets = await self._secrets.find(job.requested.account_id)
        if words.webhook_url is None or not secrets:
            return "unsigned"
        body = write_message(event, job.ended_at)
        return await self._hooks.send(words.webhook_url, str(event.event_id()), body, secrets, self._clock.now())
