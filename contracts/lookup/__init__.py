"""Private look-ups: findings in buckets that many posts share, so that reading one does not name a post.

Source: rows TR-22 and TR-23 of docs/requirements/trust.md; the extension reads the same.
"""
