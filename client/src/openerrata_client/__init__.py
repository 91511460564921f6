"""OpenErrata's job API: have articles analysed, follow the jobs, verify what comes back."""

from openerrata_client.async_client import AsyncClient, AsyncJob
from openerrata_client.client import Client, Job
from openerrata_client.documents import OpenErrataError, UnreadableAnswerError
from openerrata_client.errors import (
    ApiConnectionError,
    ApiError,
    AuthenticationError,
    CreditExhaustedError,
    ExpiredError,
    IdempotencyError,
    InvalidRequestError,
    JobFailedError,
    JobTimeoutError,
    NoResultError,
    NotFoundError,
    NotReadyError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
)
from openerrata_client.events import Event
from openerrata_client.exchanges import RetryPolicy
from openerrata_client.rate_limits import RateLimit
from openerrata_client.receipts import Receipt, ReceiptError, verify_receipt
from openerrata_client.types import CacheOnlyResult, ClientLabels, FullResult, JobView, Options
from openerrata_client.webhooks import WebhookError, WebhookMessage, verify_webhook

__all__ = [
    "ApiConnectionError",
    "ApiError",
    "AsyncClient",
    "AsyncJob",
    "AuthenticationError",
    "CacheOnlyResult",
    "Client",
    "ClientLabels",
    "CreditExhaustedError",
    "Event",
    "ExpiredError",
    "FullResult",
    "IdempotencyError",
    "InvalidRequestError",
    "Job",
    "JobFailedError",
    "JobTimeoutError",
    "JobView",
    "NoResultError",
    "NotFoundError",
    "NotReadyError",
    "OpenErrataError",
    "Options",
    "PermissionDeniedError",
    "RateLimit",
    "RateLimitError",
    "Receipt",
    "ReceiptError",
    "RetryPolicy",
    "ServerError",
    "UnreadableAnswerError",
    "WebhookError",
    "WebhookMessage",
    "verify_receipt",
    "verify_webhook",
]
