"""The extension's procedures: what it may send and what it is answered, key for key.

Both directions are strict, because the extension refuses an answer with one key too many and a request we do not
understand must never be half understood. Wire names are camelCase, names in code are not.
"""
