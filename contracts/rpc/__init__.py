"""Requests and answers of the extension's procedures.

Both directions are strict: the extension rejects an answer with an unknown key, and we reject such a request. Names on
the wire are camelCase.
"""
