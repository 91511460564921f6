/**
 * What a piece of a page says and shows: its text, and its pictures with the places they stand at in that text.
 *
 * Both come from one pass. A picture's place that was counted in another text than the one that is sent would point the
 * investigation at the wrong sentence. Source: docs/protocol.md 3.2, 3.4.
 */

import type { Exclusion, ImageOccurrence, MediaState } from './base';
import { firstText, normalize, NormalLength } from './text';
import { outerOf } from './tree';
import { type Steps, runToEnd } from './steps';
import { isBlock, textWithout, walkSteps } from './walk';

export interface ExtractedContent {
  text: string;
  imageUrls: string[];
  imageOccurrences: ImageOccurrence[];
  mediaState: MediaState;
}

/** Read the content below an element; `isVideo` recognises videos. */
export function* contentSteps(
  root: Element,
  baseUrl: string,
  excluded: Exclusion,
  isVideo: (element: Element, name: string) => boolean,
): Steps<ExtractedContent> {
  const texts: string[] = [];
  const length = new NormalLength();
  const imageOccurrences: ImageOccurrence[] = [];
  let hasVideo = false;
  let measured = 0;
  yield* walkSteps(root, excluded, {
    text: (data) => texts.push(data),
    leave(name) {
      if (isBlock(name)) texts.push(' ');
    },
    enter(element, name) {
      if (isBlock(name)) texts.push(' ');
      hasVideo ||= isVideo(element, name);
      const sourceUrl = name === 'img' ? imageSource(element, baseUrl) : null;
      if (sourceUrl === null) return;
      length.add(texts.slice(measured).join(''));
      measured = texts.length;
      imageOccurrences.push(
        createOccurrence(imageOccurrences.length, length.value, sourceUrl, imageCaption(element, root, excluded)),
      );
    },
  });
  const imageUrls = uniqueUrls(imageOccurrences);
  yield;
  return {
    text: normalize(texts.join('')),
    imageUrls,
    imageOccurrences,
    mediaState: mediaState(hasVideo, imageUrls),
  };
}

/** The same at once. */
export function readContent(...asked: Parameters<typeof contentSteps>): ExtractedContent {
  return runToEnd(contentSteps(...asked));
}

/** Where a picture comes from; null without an address, for an embedded picture, and for an invalid address. */
export function imageSource(image: Element, baseUrl: string): string | null {
  const source = (image.getAttribute('src') ?? '').trim();
  if (source === '' || source.startsWith('data:')) return null;
  return URL.parse(source, baseUrl)?.href ?? null;
}

/** What the page says a picture shows: its figure's caption, else `alt`, else `title`. */
export function imageCaption(image: Element, root: Element, excluded: Exclusion): string | null {
  const figure = image.closest('figure');
  const captions = figure !== null && root.contains(figure) ? figure.querySelectorAll('figcaption') : [];
  const caption = [...captions].find((one) => !isWithin(one, root, excluded));
  return firstText(caption && textWithout(caption, excluded), image.getAttribute('alt'), image.getAttribute('title'));
}

export function createOccurrence(
  originalIndex: number,
  normalizedTextOffset: number,
  sourceUrl: string,
  captionText: string | null,
): ImageOccurrence {
  const place = { originalIndex, normalizedTextOffset, sourceUrl };
  return captionText === null ? place : { ...place, captionText };
}

/** Each address once, in order of first appearance. */
export function uniqueUrls(occurrences: readonly ImageOccurrence[]): string[] {
  return [...new Set(occurrences.map((one) => one.sourceUrl))];
}

export function mediaState(hasVideo: boolean, imageUrls: readonly string[]): MediaState {
  if (hasVideo) return 'has_video';
  return imageUrls.length > 0 ? 'has_images' : 'text_only';
}

/** Whether an element is excluded, or lies in what is. */
export function isWithin(element: Element, root: Element, excluded: Exclusion): boolean {
  for (let at: Element | null = element; at !== null && at !== root; at = outerOf(at)) {
    if (excluded(at)) return true;
  }
  return false;
}
