"""The GraphQL schema. Names and nullability of the first four fields of `Query` and their types must not change, since
existing clients rely on them; the rest may be extended.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from graphql import GraphQLError, GraphQLScalarType, GraphQLSchema, build_schema

from contracts.rpc.values import wire_instant
from platforms import PLATFORMS
from services.gateway.public.graphql.audit_schema import AUDIT_SDL

PLATFORM_SDL: Final = f"enum Platform {{ {' '.join(site.name for site in PLATFORMS)} }}"
SDL: Final = '''
"""A date and time of RFC 3339: with any offset in arguments, always in UTC with milliseconds in answers."""
scalar DateTime

"""Whether the site itself confirmed the text, or only readers vouch for it."""
enum ContentProvenance { SERVER_VERIFIED CLIENT_FALLBACK }

type InvestigationOrigin {
  provenance: ContentProvenance!
  "When the site first confirmed the text; it may have been after the investigation."
  serverVerifiedAt: DateTime
  """When enough readers of different networks, or one with a key, had seen the same text.
  Without this and without `serverVerifiedAt`, an investigation is in no list, feed or figure; only its id or post find
  it."""
  corroboratedAt: DateTime
}

"One finished investigation of one version of a post."
type PublicInvestigation {
  id: ID!
  origin: InvestigationOrigin!
  "How many trusted readers saw the same text, where only readers vouch for it."
  corroborationCount: Int!
  checkedAt: DateTime!
  promptVersion: String!
  "In the form of an enum's value, such as `OPENAI`."
  provider: String!
  "The model's family in the form of an enum's value, such as `OPENAI_GPT_5`; the audit has the requested model."
  model: String!
  "SHA-256 of the text that was investigated."
  contentHash: String!
  "How it came about: every attempt, instruction, candidate and verdict."
  audit: InvestigationAudit!
}

type PublicPost {
  platform: Platform!
  externalId: String!
  url: String!
  "The author that the site names; null if only readers name one."
  author: Author
}

type PublicSource {
  url: String!
  title: String!
  snippet: String!
  "The newest check of the page; null if it was never checked."
  check: SourceCheck
}

"A check of a page that a finding cites."
type SourceCheck {
  "`found`: the snippet is on the page; `missing`: it is not; `unavailable`: there was no page; `unchecked`."
  status: String!
  reason: String
  finalUrl: String
  "SHA-256 of the page as fetched."
  pageHash: String
  sizeBytes: Int
  mediaType: String
  fetchedAt: DateTime
  "The path under which this server shows the page as fetched."
  archivedCopy: String
}

"A sentence found wrong, with the reasons and sources."
type PublicClaim {
  id: ID!
  "The sentence, verbatim."
  text: String!
  context: String!
  summary: String!
  reasoning: String!
  sources: [PublicSource!]!
}

enum WithdrawnState {
  "Not shown for now."
  SUSPENDED
  "Taken back for good."
  RETRACTED
}

"A finding that was published and does not stand now."
type WithdrawnClaim {
  id: ID!
  "The sentence, verbatim."
  text: String!
  "What the finding said; null while it is suspended."
  summary: String
  state: WithdrawnState!
  "What led to the withdrawal, such as `OPERATOR`."
  cause: String!
  "Why, in a sentence for readers."
  note: String!
  changedAt: DateTime!
}

"What the proven author of the post says about a finding; a newer statement about it replaces this one."
type AuthorStatement {
  claimId: ID!
  appealId: ID!
  text: String!
  statedAt: DateTime!
}

"A leaf of the decision log about an investigation."
type LoggedDecision {
  index: Int!
  "What was decided, such as `found` or `retracted`."
  kind: String!
  recordedAt: DateTime!
  "The path of the proof: a tlog-proof of C2SP, with the documents that the leaf commits to."
  proof: String!
}

type PublicInvestigationResult {
  investigation: PublicInvestigation!
  post: PublicPost!
  "The findings that stand."
  claims: [PublicClaim!]!
  withdrawnClaims: [WithdrawnClaim!]!
  "What the author of the post says about findings, once their authorship is proven."
  authorStatements: [AuthorStatement!]!
  "The decisions about the investigation in the decision log, oldest first; empty without a log."
  decisions: [LoggedDecision!]!
}

type ClaimSummary { id: ID! summary: String! }

type PostInvestigationSummary {
  id: ID!
  contentHash: String!
  origin: InvestigationOrigin!
  corroborationCount: Int!
  checkedAt: DateTime!
  claimCount: Int!
  claimSummaries: [ClaimSummary!]!
}

type PostInvestigationsResult { post: PublicPost investigations: [PostInvestigationSummary!]! }

type SearchInvestigationSummary {
  id: ID!
  contentHash: String!
  checkedAt: DateTime!
  platform: Platform!
  externalId: String!
  url: String!
  origin: InvestigationOrigin!
  corroborationCount: Int!
  claimCount: Int!
  claimSummaries: [ClaimSummary!]!
}

type SearchInvestigationsResult { investigations: [SearchInvestigationSummary!]! hasMore: Boolean! }

type PublicMetrics {
  totalInvestigatedPosts: Int!
  investigatedPostsWithFlags: Int!
  "The share of investigated posts that are flagged; 0 if there are none."
  factCheckIncidence: Float!
}

"One identity on one platform, as the site names it; never merged with others."
type Author {
  id: ID!
  platform: Platform!
  platformUserId: String!
  displayName: String!
  metrics: AuthorMetrics!
  "The author's investigated posts, newest first."
  investigations(first: Int = 20, after: String): InvestigationConnection!
}

type AuthorMetrics {
  investigatedPosts: Int!
  flaggedPosts: Int!
  claimCount: Int!
  factCheckIncidence: Float!
}

type PageInfo { hasNextPage: Boolean! endCursor: String }

type AuthorEdge { cursor: String! node: Author! }
type AuthorConnection { edges: [AuthorEdge!]! pageInfo: PageInfo! }

enum SearchOrder {
  "Best first, among the newest two hundred that match."
  RELEVANCE
  NEWEST
}
enum SearchField { TITLE AUTHOR URL CLAIM TEXT }
type HighlightPart { text: String! matches: Boolean! }
"A passage that matches; its parts, put together in order, are the passage."
type Highlight { field: SearchField! parts: [HighlightPart!]! }
type InvestigationEdge {
  cursor: String!
  node: SearchInvestigationSummary!
  title: String
  authorName: String
  "Whether the site itself names this author; otherwise only readers do."
  authorConfirmed: Boolean!
  highlights: [Highlight!]!
}
type InvestigationConnection { edges: [InvestigationEdge!]! pageInfo: PageInfo! }

"A difference between what a reader sent and what the site says."
type IntegrityAnomaly {
  observationId: ID!
  kind: String!
  platform: Platform!
  externalId: String!
  observed: String!
  canonical: String!
  detectedAt: DateTime!
}
type IntegrityAnomalyEdge { cursor: String! node: IntegrityAnomaly! }
type IntegrityAnomalyConnection { edges: [IntegrityAnomalyEdge!]! pageInfo: PageInfo! }

type Query {
  "One finished investigation; null if there is none with this id."
  publicInvestigation(investigationId: ID!): PublicInvestigationResult
  "Every finished investigation of a post, newest first; also of texts that only readers vouch for."
  postInvestigations(platform: Platform!, externalId: String!): PostInvestigationsResult!
  """Finished investigations of texts that their site confirms or enough readers corroborate, newest first; `query` is
  searched for in text, title, author, address and findings."""
  searchInvestigations(
    query: String
    platform: Platform
    minClaimCount: Int
    limit: Int = 20
    offset: Int = 0
  ): SearchInvestigationsResult!
  "The number of listed posts that were investigated, and of those flagged; both bounds are inclusive."
  publicMetrics(platform: Platform, authorId: ID, windowStart: DateTime, windowEnd: DateTime): PublicMetrics!

  "The same search, ranked and highlighted, and paged by cursor."
  search(
    query: String
    platform: Platform
    minClaimCount: Int = 0
    order: SearchOrder = RELEVANCE
    first: Int = 20
    after: String
  ): InvestigationConnection!
  "One author; null if there is none with this id, or if only readers name it."
  author(id: ID!): Author
  "Authors in the order of their names; `query` is searched for in the name."
  authors(query: String, platform: Platform, first: Int = 20, after: String): AuthorConnection!
  "Contradictions between readers and sites, newest first."
  integrityAnomalies(
    platform: Platform
    externalId: String
    first: Int = 20
    after: String
  ): IntegrityAnomalyConnection!
}
'''

_RFC3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)


def _read_instant(value: object) -> datetime:
    if isinstance(value, str) and _RFC3339.fullmatch(value):
        try:
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise GraphQLError("DateTime must be an RFC 3339 date and time with an offset")


def make_schema() -> GraphQLSchema:
    """The schema, without resolvers."""
    schema = build_schema(PLATFORM_SDL + SDL + AUDIT_SDL)
    scalar = schema.type_map["DateTime"]
    assert isinstance(scalar, GraphQLScalarType)
    scalar.serialize = scalar.coerce_output_value = wire_instant  # type: ignore[method-assign]  # as its own constructor
    scalar.parse_value = scalar.coerce_input_value = _read_instant  # type: ignore[method-assign]  # as its own constructor
    return schema
