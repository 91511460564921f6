"""Outbound HTTP: every request to an untrusted address goes through `GuardedHttpClient`.

It connects to public addresses only and limits size and time; another client would undo all of that.
"""

from kit.web.errors import ErrorKind, WebError
from kit.web.guarded_client import CONTACT_URL, Fetched, GuardedHttpClient, Policy, Request
from kit.web.resolve import Resolver, system_resolver
from kit.web.url import Url, parse_url

__all__ = [
    "CONTACT_URL",
    "ErrorKind",
    "Fetched",
    "GuardedHttpClient",
    "Policy",
    "Request",
    "Resolver",
    "Url",
    "WebError",
    "parse_url",
    "system_resolver",
]
