"""The life of an investigation, folded from its facts: pure, and the only place that decides about it.

`investigation` holds the aggregate; `planning`, `conclusion`, `reviews` and `rescue` answer what its users ask of it:
what a worker has to do, how it ends, whether a claim still needs a review, whether a run was lost. `progress` and
`retries` know nothing of claims, so that runs of other kinds use them too.
"""
