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
  "What the model said last; null also where it is kept back."
  outputText: String
  startedAt: DateTime!
  completedAt: DateTime
  usage: TokenUsage
  error: AttemptError
  "Arguments by which the model submits something are left out, and so are texts that repeat a rejected candidate."
  toolCalls: [ToolCall!]!
  "Null where no transcript could be read, and of all attempts but the last ten."
  request: AttemptRequest
  "The first hundred; empty also where they are kept back."
  reasoningSummaries: [String!]!
  "Pages that the provider's own search gave the model to cite: each once, the first hundred."
  citations: [Citation!]!
}
"What the model was sent at first; what it was sent later are the answers to its tool calls."
type AttemptRequest {
  instructions: String!
  """Metadata and text of the post, and of an update the findings of the earlier version and what has changed; at most
  200,000 characters of it."""
  input: String!
  "How many characters it had."
  inputCharacters: Int!
  tools: [RequestedTool!]!
  reasoningEffort: String
  "How the provider was asked to sum up what the model thinks."
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
"What became of one candidate; a rejected one is not shown, since it was found not to be wrong."
type ValidationResult {
  claimId: ID!
  attempt: Int
  state: CandidateState!
  gate: String
  proposedAt: DateTime!
  decidedAt: DateTime
  "The investigation of an earlier version from which it was kept."
  retainedFrom: ID
  "The model that took the second look, if one did."
  model: String
  totalTokens: Int
  "SHA-256 of the stored transcript of the second look."
  transcriptHash: String
  "Looks at it that ended without a verdict, the last twenty; another one may have followed."
  failures: [ReviewFailure!]!
  "The gates that judged it by code, in their order; none in older results."
  gates: [GateOutcome!]!
}
"What a gate said: PASS, or FAIL with a code."
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
  "Of an update, what changed since the investigation before, as the model was told."
  contentDiff: String
  contentHash: String!
  markdownSource: String!
  rendererVersion: String
  "Null if the site was never asked in vain."
  verificationFailure: VerificationFailure
  """Whether `outputText` and `reasoningSummaries` are kept back because some of what the model submitted is not
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
