/**
 * The port on which a content script has a post checked: one `START`, then everything of `Out` comes back, the last
 * message is one that has ended. Closing the port cancels the check.
 *
 * `{at: 'alive'}` comes every 20 seconds and means nothing: it keeps Chrome from ending the background. A port that closes
 * before the end means `interrupted`. A second port of the same tab with the same permalink joins the check
 * that runs and gets its messages from the beginning; with another permalink it replaces that check.
 */
import type { Out } from '../verdict/check';
import { exactly, literal, nonEmpty, type Of, webUrl } from './read';
import { PROTOCOL_VERSION } from './wire';

export const CHECK_PORT = `check/${PROTOCOL_VERSION}`;

export const readCheckRequest = exactly({ type: literal('START'), words: nonEmpty, permalink: webUrl });

export type CheckRequest = Of<typeof readCheckRequest>;

export type CheckMessage = Out | { readonly at: 'alive' };

/** The port on which the background has a check run in another document: one `Job`, then `FromJob`. */
export const RUNNER_PORT = 'runner';
