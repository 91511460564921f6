"""Bluesky: a post proves itself, since its author signs the repository that contains it.

The site is not asked for the text. The author's DID names their key and their server; that server's proof of the record
is checked here, so neither it nor the site has to be trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import ClassVar, Final, Literal, NoReturn
from urllib.parse import urlencode

from contracts.rpc.observation import ObservedWithId, ObservedWithText, SiteMetadata
from contracts.rpc.values import Identifier, InstantText, Optional, Title
from contracts.v1.pages import Observation
from contracts.v1.parts import Author, PostRef
from platforms import stored
from platforms.atproto.cbor import encode
from platforms.atproto.did import Identity, is_did, is_handle, parse_document, web_host
from platforms.atproto.reasons import InvalidProof
from platforms.atproto.records import POST, PROFILE, PROFILE_KEY, is_record_key, prove_post, prove_profile
from platforms.base import (
    HIDDEN_BY_AUTHOR,
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    IdentityMismatch,
    Metadata,
    Platform,
    Sequence,
    SiteAnswer,
    Steps,
    get_text,
    is_host_of,
    metadata_text,
    parse_json,
    require_equal,
)
from platforms.bluesky_text import make_html, shown_text
from platforms.stored import StoredMetadata
from platforms.urls import decode_component, parse_url, web_page

_APPVIEW: Final = "https://public.api.bsky.app"
_PLC: Final = "https://plc.directory"
_PATH = re.compile(r"/profile/([^/]+)/post/([^/]+)/?")
_CAR: Final = "application/vnd.ipld.car"
_MAX_DOCUMENT_BYTES: Final = 100_000
_MAX_PROOF_BYTES: Final = 1_000_000
_HIDDEN: Final = frozenset({"RepoNotFound", "RepoTakendown", "RepoSuspended", "RepoDeactivated"})
"""A server's error names for a repository that it does not show."""


class BlueskyMetadata(SiteMetadata):
    author_did: Identifier
    author_handle: Optional[Identifier] = None
    author_name: Optional[Title] = None
    published_at: Optional[InstantText] = None


class ObservedBluesky(ObservedWithId, ObservedWithText):
    platform: Literal["BLUESKY"]
    metadata: BlueskyMetadata


class BlueskyVersion(StoredMetadata):
    """`uri` and the fields after it exist for proved posts only: browsers cannot send them."""

    author_did: stored.Text
    author_handle: stored.OptionalText = None
    author_name: stored.OptionalTitle = None
    published_at: stored.Moment = None
    uri: stored.OptionalText = None
    cid: stored.OptionalText = None
    rev: stored.OptionalText = None
    signing_key: stored.OptionalText = None
    proof_sha256: stored.OptionalText = None


class Bluesky(Platform):
    """A post's identity is its author's DID and its record key. Source: docs/protocol.md 3.7."""

    name = "BLUESKY"
    display_name = "Bluesky"
    domains = ("bsky.app",)
    observed = ObservedBluesky
    stored = BlueskyVersion
    default_endpoint = _APPVIEW
    endpoint_meaning = "origin that resolves handles"
    further_endpoints: ClassVar[Mapping[str, tuple[str, str]]] = {"PLC": (_PLC, "directory of DIDs")}
    disputed = ("author_handle",)
    confirmation = "signed by its author's key"
    proof_place = "any post or reply of yours on Bluesky"

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if page.host != "bsky.app" or path is None:
            raise IdentityMismatch("the URL is not that of a post on Bluesky")
        did, _, key = (external_id or "").partition("/")
        if not is_did(did) or not is_record_key(key):
            raise IdentityMismatch("the external id is not that of a DID's record")
        require_equal("the record key", key, path[2])
        require_equal("the author's DID", metadata_text(metadata, "author_did"), did)
        actor = _actor(url)
        if not is_handle(actor):
            require_equal("the author", did, actor)
        return PostRef(platform=self.name, external_id=f"{did}/{key}")

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Request the author's DID document: the first step."""
        return self._document_request(observation, {})

    def steps(self, observation: Observation, endpoints: Mapping[str, str]) -> Steps | None:
        """Fetch the DID document, the handle's DID if the URL has a handle, and the proofs of post and profile."""
        first = self._document_request(observation, endpoints)
        return None if first is None else self._steps(observation, endpoints, first)

    def is_own(self, url: str) -> bool:
        """Whether this URL is on the site itself; requests to other hosts must be answered by those hosts."""
        return is_host_of(url, "bsky.app", ".bsky.app")

    def permalink(self, url: str) -> str | None:
        """The path with the record key: links name the author by handle, stored URLs by DID."""
        path = _PATH.fullmatch(web_page(url).path)
        return None if path is None else f"/post/{path[2]}"

    def address(self, observation: Observation) -> str:
        """The post's URL with DID and record key: a handle can pass to another account."""
        did, _, key = observation.post.external_id.partition("/")
        return f"https://bsky.app/profile/{did}/post/{key}"

    def author(self, metadata: Metadata) -> Author | None:
        """The author's DID, displayed under the profile's name or else the handle."""
        did = metadata_text(metadata, "author_did")
        name = metadata_text(metadata, "author_name") or metadata_text(metadata, "author_handle")
        return None if did is None else Author(platform_user_id=did, display_name=name or did)

    def own_page(self, url: str, owner: str, post: PostRef, metadata: Metadata) -> tuple[PostRef, Metadata]:
        """The post in the owner's repository under the URL's record key; the repository proves whether it exists."""
        path = _PATH.fullmatch(web_page(url).path)
        known = {"author_did": owner}
        return self.check(url, None if path is None else f"{owner}/{path[2]}", known), known

    def _document_request(self, observation: Observation, endpoints: Mapping[str, str]) -> CanonicalRequest | None:
        did, _, key = observation.post.external_id.partition("/")
        if not is_did(did) or not is_record_key(key):
            return None
        host = web_host(did)
        directory = endpoints.get("PLC", _PLC).rstrip("/")
        return CanonicalRequest(
            "GET",
            f"{directory}/{did}" if host is None else f"https://{host}/.well-known/did.json",
            (("accept", "application/json"),),
            part=f"{_actor(observation.url)} {did}/{key}",
            missing_statuses=frozenset({404, 410}),
            max_bytes=_MAX_DOCUMENT_BYTES,
        )

    def _steps(self, observation: Observation, endpoints: Mapping[str, str], first: CanonicalRequest) -> Steps:
        did, _, key = observation.post.external_id.partition("/")
        document = yield first
        try:
            identity = parse_document(parse_json(document.body), did)
            handle = _actor(observation.url)
            if is_handle(handle):
                _check_handle((yield _resolving(handle, endpoints)), handle, identity)
            server = _server_of(identity, endpoints)
            post_car = yield _proof_request(server, did, POST, key)
            _check_shown(post_car)
            post = prove_post(post_car.body, identity, key, post_car.received_at)
            if post is None:
                raise CanonicalMismatch("not_found", "the author's repository proves that there is no such post")
            profile_car = yield _proof_request(server, did, PROFILE, PROFILE_KEY)
            _check_shown(profile_car)
            # An older revision could be one from before the author asked not to be shown.
            profile = prove_profile(profile_car.body, identity, profile_car.received_at, post.rev)
        except InvalidProof as error:
            raise CanonicalMismatch("bad_answer", str(error)) from error
        if profile.is_hidden:
            raise CanonicalMismatch(HIDDEN_BY_AUTHOR, "the author asks not to be shown to people without an account")
        html = make_html(shown_text(post.text, post.facets))
        if not html:
            raise CanonicalMismatch("no_text", "the post has no text")
        proof = encode({"document": document.body, "post": post_car.body, "profile": profile_car.body})
        return CanonicalAnswer(
            observation.post,
            html,
            revision_id=post.cid,
            url=self.address(observation),
            metadata={
                "author_did": did,
                "author_handle": handle if is_handle(handle) else None,
                "author_name": profile.display_name,
                "published_at": post.created_at,
                "uri": f"at://{did}/{POST}/{key}",
                "cid": post.cid,
                "rev": post.rev,
                "signing_key": identity.key.did,
                "proof_sha256": sha256(proof).hexdigest(),
            },
            proof=proof,
            sequence=Sequence(did, post.rev),
        )


def _actor(url: str) -> str:
    """The account in a post's URL: a DID, or a handle in lower case; empty if the URL is not that of a post."""
    page = parse_url(url)
    path = None if page is None else _PATH.fullmatch(page.path)
    actor = None if path is None else decode_component(path[1])
    return "" if actor is None else actor if actor.startswith("did:") else actor.lower()


def _resolving(handle: str, endpoints: Mapping[str, str]) -> CanonicalRequest:
    origin = endpoints.get(Bluesky.name, _APPVIEW).rstrip("/")
    return CanonicalRequest(
        "GET",
        f"{origin}/xrpc/com.atproto.identity.resolveHandle?{urlencode({'handle': handle})}",
        (("accept", "application/json"),),
        readable_statuses=frozenset({400}),
        max_bytes=_MAX_DOCUMENT_BYTES,
    )


def _proof_request(server: str, did: str, collection: str, key: str) -> CanonicalRequest:
    query = urlencode({"did": did, "collection": collection, "rkey": key})
    return CanonicalRequest(
        "GET",
        f"{server}/xrpc/com.atproto.sync.getRecord?{query}",
        (("accept", _CAR),),
        readable_statuses=frozenset({400, 404}),
        max_bytes=_MAX_PROOF_BYTES,
    )


def _check_handle(answer: SiteAnswer, handle: str, identity: Identity) -> None:
    """Refuse the handle unless it resolves to the DID and the DID's document claims it."""
    if get_text(parse_json(answer.body), "did") != identity.did or handle not in identity.handles:
        raise CanonicalMismatch("bad_answer", "handle: DID and handle do not name one another")


def _server_of(identity: Identity, endpoints: Mapping[str, str]) -> str:
    """The origin of the author's server: https, or one that an operator has set."""
    page = parse_url(identity.server)
    known = {(each.scheme, each.host, each.port) for each in map(parse_url, endpoints.values()) if each is not None}
    if page is None or page.has_credentials or page.path not in ("", "/") or page.search:
        _refuse_server()
    if page.scheme != "https" and (page.scheme, page.host, page.port) not in known:
        _refuse_server()
    return f"{page.scheme}://{page.host}" + (f":{page.port}" if page.port else "")


def _refuse_server() -> NoReturn:
    raise InvalidProof("did_document", "the author's server is not an origin over https")


def _check_shown(answer: SiteAnswer) -> None:
    """Refuse an error in place of a proof. Raises: CanonicalMismatch."""
    if answer.status == 200:
        return
    error = get_text(parse_json(answer.body), "error") or "an error"
    if error in _HIDDEN:
        raise CanonicalMismatch("not_public", f"the author's server does not show the repository: {error}")
    raise CanonicalMismatch("bad_answer", f"the author's server answers {error[:100]}")
