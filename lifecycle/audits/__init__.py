"""The life of an audit's job, its cost and the claim cache, decided from facts of the stream JOBS. Pure.

`credits` has an account's monthly balance and `charges` what a job costs; `intake` decides about idempotency keys,
`cache` the outcome of a claim's look-up; `runs` folds one step and `jobs` a job, its next step and its charge;
`conclusion` decides what follows once all runs that a job waits for have ended.
"""
