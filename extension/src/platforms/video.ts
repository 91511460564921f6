/**
 * What counts as a video, by the same rule as on the server (`platforms/video.py`). Posts that show one are skipped: what
 * it says cannot be checked. Source: docs/protocol.md 5.3, decision 0042.
 */

const PLAYERS = [
  'youtube.com', 'youtube-nocookie.com', 'youtu.be', 'vimeo.com', 'dailymotion.com', 'twitch.tv', 'wistia.com',
  'loom.com', 'spotify.com/embed/episode', 'player.simplecast.com',
]; // prettier-ignore

/** Permissions of a frame that a player asks for and a chart or a market does not; `fullscreen` is asked for by both. */
const PLAYER_PERMISSIONS: ReadonlySet<string> = new Set(['autoplay', 'encrypted-media', 'picture-in-picture']);

/** A `video` element, or the frame of a player: a known one, or one that is allowed what players need. */
export function isEmbeddedVideo(element: Element, name: string): boolean {
  if (name === 'video') return true;
  if (name !== 'iframe') return false;
  const source = element.getAttribute('src') ?? '';
  if (PLAYERS.some((player) => source.includes(player))) return true;
  const directives = (element.getAttribute('allow') ?? '').toLowerCase().split(';');
  return directives.some((directive) => PLAYER_PERMISSIONS.has(directive.trim().split(/\s+/)[0] ?? ''));
}
