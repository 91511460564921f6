"""The lifecycle of an investigation, folded from its events. Pure, and the only place that decides about it.

`investigation` holds the aggregate and `rounds` its parts. `planning` decides what a worker has to do, `conclusion` how
an investigation ends, `reviews` whether a claim still needs a review, `rescue` whether a run was lost,
`display` when a held claim is released, `findings` what becomes of a published one. `progress`,
`retries`, `attempts` and `run` know nothing of claims, so runs of other kinds use them too: `audits` is one of these.
"""
