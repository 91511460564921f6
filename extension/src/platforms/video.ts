/** What counts as a video. Posts that show one are skipped: what it says cannot be checked. Source: CONTRACT 7.4. */

const PLAYERS = [
  'youtube.com', 'youtube-nocookie.com', 'youtu.be', 'vimeo.com', 'dailymotion.com', 'twitch.tv', 'wistia.com',
  'loom.com', 'spotify.com/embed/episode', 'player.simplecast.com',
]; // prettier-ignore

/** A `video` element, or the frame of a known player; other frames (markets, charts) are read around. */
export function isEmbeddedVideo(element: Element, name: string): boolean {
  if (name === 'video') return true;
  if (name !== 'iframe') return false;
  const source = element.getAttribute('src') ?? '';
  return PLAYERS.some((player) => source.includes(player));
}
