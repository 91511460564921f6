"""What becomes of an attempt, whether or not it still decides about its investigation: cost, record, error and end."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID, uuid5

from contracts.v1 import InvestigationFailed, InvestigationRetryScheduled
from contracts.v1.ids import ID_NAMESPACE
from contracts.v1.parts import TextRef, Usage
from services.projector.changes import Heard
from services.projector.expenses import Expense, cost_something
from services.projector.facts import Fact
from services.projector.investigations import AttemptEnd, ErrorRow, Investigation, Lifecycles, UsageRow


def attempt_id(investigation: UUID, number: int) -> UUID:
    """An attempt: its investigation and its number."""
    return uuid5(ID_NAMESPACE, f"attempt\x1f{investigation}\x1f{number}")


def spent(lives: Lifecycles, state: Investigation, attempt: UUID, usage: Usage, at: datetime) -> None:
    """An attempt that ended, or failed, says what it used in all."""
    lives.usages[attempt] = UsageRow(
        attempt,
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cached_input_tokens,
        usage.reasoning_output_tokens,
        usage.cost_micro_usd,
        at,
    )
    paid(lives, state, attempt, usage, at)


def paid(lives: Lifecycles, state: Investigation, attempt: UUID, usage: Usage, at: datetime) -> None:
    """Count what an attempt has cost as far as is known; it is told again, and more, until the attempt ends."""
    if cost_something(usage):
        expense = Expense(attempt, state.id, state.round, "INVESTIGATION", usage.total_tokens, usage.cost_micro_usd, at)
        lives.attempt_expenses[attempt] = expense.or_more(lives.attempt_expenses.get(attempt))


def failed(lives: Lifecycles, fact: Fact, event: InvestigationRetryScheduled | InvestigationFailed) -> None:
    """An attempt failed, whether another one follows or not."""
    state = lives.states.get(event.investigation_id)
    if state is None or event.attempt > state.attempt_count:
        return
    number = attempt_id(event.investigation_id, event.attempt)
    if event.usage is not None:
        spent(lives, state, number, event.usage, fact.at)
    name = event.error_name or event.failure
    lives.errors.setdefault(number, ErrorRow(number, name, event.reason, event.status_code, fact.at))
    ended(lives, AttemptEnd(number, "FAILED", fact.at))
    heard(lives, number, event.transcript, fact.at)


def heard(lives: Lifecycles, attempt: UUID, transcript: TextRef | None, at: datetime) -> None:
    """The first transcript of an attempt is its record."""
    if transcript is not None:
        lives.heard.setdefault(attempt, Heard(attempt, transcript.sha256, at))


def ended(lives: Lifecycles, end: AttemptEnd) -> None:
    """A later word on the same end adds to an earlier one, and takes nothing from it."""
    earlier = lives.attempt_ends.get(end.id)
    if earlier is not None:
        end.response_model_version = end.response_model_version or earlier.response_model_version
    lives.attempt_ends[end.id] = end
