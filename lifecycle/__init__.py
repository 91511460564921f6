"""The lifecycle of an investigation, folded from its events. Pure, and the only place that decides about it.

`investigation` has the aggregate and `rounds` its parts. `planning` decides what a worker has to do, `conclusion` how
an investigation ends, `reviews` whether a claim still needs a review, `rescue` whether a run was lost, `display` when a
held claim is released, `findings` how a published one may change. `progress`, `attempts` and `run` know nothing about
claims, so `audits` uses them for its runs too.
"""
