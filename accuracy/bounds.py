"""Exact bounds of a rate from a sample. Source: rows TR-40 and TR-45 of docs/requirements/trust.md.

A share of trials says little without its bound: no error in 20 posts still allows one post in seven to be wrong. Units:
rates are shares from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, fsum, lgamma, log, log1p
from typing import Final

CONFIDENCE: Final = 0.95

_PRIOR: Final = (0.5, 200.0)
"""A Beta distribution whose mass lies at rates below one in a hundred, where the anytime bound is to be tight."""

_WORSE: Final = (0.01, 0.02, 0.04, 0.08, 0.16)
"""The alternative rates of `weigh_evidence`, with equal weights."""


def upper_bound(events: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """The largest rate that is compatible with this sample: the one-sided bound of Clopper and Pearson.

    It holds if it is read once, after a number of trials that was fixed beforehand. No trials: 1.
    Raises: ValueError: there are more events than trials, or fewer than 0.
    """
    _check(events, trials)
    if events == trials:
        return 1.0
    return _bisect(lambda rate: _at_most(events, trials, rate) > 1 - confidence, events / trials, 1.0)


def lower_bound(events: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """The smallest rate that is compatible with this sample, likewise. No trials: 0. Raises: ValueError."""
    _check(events, trials)
    return 1 - upper_bound(trials - events, trials, confidence)


def anytime_upper_bound(events: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """An upper bound that may be read after each trial, as on a page that is always up to date. No trials: 1.

    A rate is excluded once a mixture of rates explains the sample 1 / (1 - confidence) times better. By Ville's
    inequality the true rate is ever excluded with probability 1 - confidence at most. Raises: ValueError.
    """
    _check(events, trials)
    if events == trials:
        return 1.0
    limit = -log(1 - confidence)
    return _bisect(lambda rate: _log_mixture(events, trials, rate) < limit, events / trials, 1.0)


def weigh_evidence(events: int, trials: int, rate: float) -> float:
    """The e-value against a rate: how many times better higher rates explain the sample.

    It may be read after each trial; above 20 it is evidence at the level of 95 %. Raises: ValueError.
    """
    _check(events, trials)
    others = trials - events
    return fsum(exp(events * log(each / rate) + others * (log1p(-each) - log1p(-rate))) for each in _WORSE) / len(
        _WORSE
    )


def _check(events: int, trials: int) -> None:
    if not 0 <= events <= trials:
        raise ValueError(f"{events} events in {trials} trials")


def _at_most(events: int, trials: int, rate: float) -> float:
    """The binomial probability of `events` or fewer."""
    whole, seen, other = lgamma(trials + 1), log(rate), log1p(-rate)
    return fsum(
        exp(whole - lgamma(each + 1) - lgamma(trials - each + 1) + each * seen + (trials - each) * other)
        for each in range(events + 1)
    )


def _log_mixture(events: int, trials: int, rate: float) -> float:
    """The logarithm of how much better the prior's rates explain the sample than `rate` does."""
    first, second = _PRIOR
    ratio = _log_beta(first + events, second + trials - events) - _log_beta(first, second)
    return ratio - events * log(rate) - (trials - events) * log1p(-rate)


def _log_beta(first: float, second: float) -> float:
    return lgamma(first) + lgamma(second) - lgamma(first + second)


def _bisect(is_compatible: Callable[[float], bool], low: float, high: float) -> float:
    """The largest compatible rate between `low` and `high`, to the nearest float."""
    while low < (middle := (low + high) / 2) < high:
        if is_compatible(middle):
            low = middle
        else:
            high = middle
    return high
