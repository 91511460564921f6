/**
 * Messages between the content script and the in-page frame, over one port that the page cannot see.
 *
 * Words of findings travel here and nowhere else on the page: not by `window.postMessage`, not in an attribute, not in the
 * frame's address. The address only carries a secret that proves that this frame is the one which was asked for.
 */
import type { LogProof } from '../protocol/status';
import type { CheckState } from './check_state';
import type { Tone } from './highlights';

export interface Source {
  readonly url: string;
  readonly title: string;
  readonly snippet: string;
}

/** A finding as a reader sees it. */
export interface Finding {
  readonly id: string;
  readonly quote: string;
  readonly context: string;
  readonly summary: string;
  readonly reasoning: string;
  readonly sources: readonly Source[];
}

/** What is true of all findings of a post. */
export interface FindingsInfo {
  /** Found in an earlier version of this post; this version has not been checked yet. */
  readonly interim: boolean;
  readonly provenance: 'SERVER_VERIFIED' | 'CLIENT_FALLBACK' | null;
  /** How many independent readers' copies agree, where the server sends it. */
  readonly corroborations: number | null;
  /** What the server's public log says of them. */
  readonly proof: LogProof | null;
  /** The public page of the investigation, where its address is known. */
  readonly publicUrl: string | null;
}

export type FrameView =
  | { readonly kind: 'hidden' }
  | { readonly kind: 'tooltip'; readonly claimId: string }
  | { readonly kind: 'panel'; readonly claimId: string };

export const HIDDEN_VIEW: FrameView = { kind: 'hidden' };

export type ToFrame =
  | {
      readonly kind: 'findings';
      readonly findings: readonly Finding[];
      readonly info: FindingsInfo;
      /** Claims that are underlined; the others have no place on the page. */
      readonly anchored: readonly string[];
    }
  | { readonly kind: 'tone'; readonly tone: Tone }
  /** `focus`: the reader works with the keyboard, so the view takes the focus. `room`: what it may take up, in CSS pixels. */
  | { readonly kind: 'view'; readonly view: FrameView; readonly focus: boolean; readonly room: Size }
  /** Put the focus on a finding in the list, so that it is read out. */
  | { readonly kind: 'speak'; readonly claimId: string }
  /** A check of a post, which then is all that this frame shows. `width` is that of the card, in CSS pixels. */
  | { readonly kind: 'check'; readonly check: CheckState; readonly width: number }
  /** Put the focus on the card. */
  | { readonly kind: 'enter' };

export interface Size {
  readonly width: number;
  readonly height: number;
}

export type FromFrame =
  | { readonly kind: 'ready' }
  /** Keeps the worker in between alive while the reader sees the frame; the page ignores it. */
  | { readonly kind: 'alive' }
  /** How large the view wants to be. */
  | { readonly kind: 'size'; readonly size: Size }
  | { readonly kind: 'pointer'; readonly over: boolean }
  /** The focus came into the frame, or left it. */
  | { readonly kind: 'focus'; readonly within: boolean }
  /** `back`: return the focus to the page. */
  | { readonly kind: 'close'; readonly back: boolean }
  | { readonly kind: 'open'; readonly claimId: string }
  /** Scroll to the finding's words. */
  | { readonly kind: 'locate'; readonly claimId: string }
  /** Stop the check that runs. */
  | { readonly kind: 'cancel' }
  /** Check the same post once more. */
  | { readonly kind: 'again' };

/** The port's name; the secret follows the colon. */
export const PORT_NAME = 'in-page';
