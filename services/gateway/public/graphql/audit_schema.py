"""The audit's part of the schema, which may be extended."""

from __future__ import annotations

from typing import Final

AUDIT_SDL: Final = '''
type TokenUsage {
  inputTokens: Int!
  outputTokens: Int!
  totalTokens: Int!
  cachedInputTokens: Int
  reasoningOutputTokens: Int
}
type AttemptError { name: String! message: String! statusCode: Int at: DateTime! }
type ToolCall {
  index: Int!
  tool: String!
  status: String
  "The call as it was recorded, as JSON."
  payload: String!
  capturedAt: DateTime!
}
enum AttemptOutcome { SUCCEEDED FAILED }
type InvestigationAttempt {
  number: Int!
  outcome: AttemptOutcome
  requestedModel: String!
  answeredByModel: String
  promptHash: String!
  inputHash: String!
  "SHA-256 of the stored transcript, from which all of this can be read again."
  transcriptHash: String
  "The model's last output; null also if it is withheld."
  outputText: String
  startedAt: DateTime!
  completedAt: DateTime
  usage: TokenUsage
  error: AttemptError
  "Arguments by which the model submits something are left out, and so are texts that repeat a rejected candidate."
  toolCalls: [ToolCall!]!
  "Null if no transcript could be read, and for all attempts but the last ten."
  request: AttemptRequest
  "The first hundred; empty also if they are withheld."
  reasoningSummaries: [String!]!
  "Pages that the provider's own search gave the model to cite: each once, the first hundred."
  citations: [Citation!]!
}
"The first request to the model; later ones add the answers to its tool calls."
type AttemptRequest {
  instructions: String!
  """Metadata and text of the post, and of an update the findings of the earlier version and what has changed; at most
  200,000 characters of it."""
  input: String!
  "The number of characters of the whole input."
  inputCharacters: Int!
  tools: [RequestedTool!]!
  reasoningEffort: String
  "How the provider was asked to summarise the model's reasoning."
  reasoningSummary: String
}
"A tool that the model was offered."
type RequestedTool {
  type: String!
  "As JSON."
  definition: String!
}
type Citation { type: String! url: String title: String }
enum CandidateState { PENDING APPROVED REJECTED FAILED }
"The outcome of one candidate; the text of a rejected one is not shown, since it was not found wrong."
type ValidationResult {
  claimId: ID!
  attempt: Int
  state: CandidateState!
  gate: String
  proposedAt: DateTime!
  decidedAt: DateTime
  "The investigation of an earlier version from which the candidate was retained."
  retainedFrom: ID
  "The model that reviewed the candidate, if one did."
  model: String
  totalTokens: Int
  "SHA-256 of the stored transcript of the review."
  transcriptHash: String
  "Reviews that ended without a verdict, the last twenty; another one may have followed."
  failures: [ReviewFailure!]!
  "The gates that judged the candidate by code, in their order; empty in older results."
  gates: [GateOutcome!]!
}
"The outcome of a gate: PASS, or FAIL with a code."
type GateOutcome { gate: String! outcome: String! code: String }
type ReviewFailure { round: Int! reason: String! statusCode: Int at: DateTime! }
"Why the site could not confirm the text, as a short code; it may have confirmed it later."
type VerificationFailure { reason: String! failedAt: DateTime! }
type InvestigationPrompt { version: String! hash: String! text: String! }
type InvestigationAudit {
  analysis: String!
  round: Int!
  requestedBy: String
  queuedAt: DateTime!
  parentInvestigationId: ID
  "For an update: what changed since the earlier investigation, as sent to the model."
  contentDiff: String
  contentHash: String!
  markdownSource: String!
  rendererVersion: String
  "Null if no attempt to verify the text has failed."
  verificationFailure: VerificationFailure
  """Whether `outputText` and `reasoningSummaries` are withheld because some of what the model submitted is not
  published; they would repeat it in other words."""
  modelTextWithheld: Boolean!
  prompt: InvestigationPrompt!
  attempts: [InvestigationAttempt!]!
  validation: [ValidationResult!]!
  proposedCount: Int!
  approvedCount: Int!
  rejectedCount: Int!
  failedCount: Int!
}
'''
