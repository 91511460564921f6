"""The one outbound door: every request to an address that somebody else chose goes through `Door`.

It reaches public addresses only, reads no more than it was told to, and never waits longer. A second way out would undo
all three.
"""

from kit.web.door import CONTACT_URL, Door, Fetched, Policy, Request
from kit.web.errors import ErrorKind, WebError
from kit.web.resolve import Resolver, system_resolver
from kit.web.url import Url, parse_url

__all__ = [
    "CONTACT_URL",
    "Door",
    "ErrorKind",
    "Fetched",
    "Policy",
    "Request",
    "Resolver",
    "Url",
    "WebError",
    "parse_url",
    "system_resolver",
]
