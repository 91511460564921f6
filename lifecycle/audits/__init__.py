"""The life of an audit's job, its money and the claim cache, decided from facts of the stream JOBS. Pure.

`credits` holds a month's balance and `charges` what a job costs; `intake` decides about idempotency keys, `cache` what
a claim's look-up leads to; `runs` folds one step and `jobs` a job, its next step and its charge; `conclusion` says what
follows once all that a job waits for has ended.
"""
