"""Private look-ups: findings are in buckets that many posts share, so that reading a bucket reveals no post.

Source: rows TR-22 and TR-23 of docs/requirements/trust.md; the extension has the same rules.
"""
