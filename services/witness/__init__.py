"""A witness of transparency logs (C2SP tlog-witness): a program of its own, which any institution can run.

It follows no event and reaches none of our servers: a folder with a key and a SQLite file is all that it has.
"""
