/** What a model cannot know: when and where it is asked. It follows every prompt, a reader's own too. */

const PARTS = {
  weekday: 'long',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'longOffset',
} as const;

/** The prompt, a blank line and three lines of context. Shapes: `moment` is a time in ISO form, `zone` an IANA name. */
export function systemMessage(prompt: string, moment: string, zone: string): string {
  return `${prompt.replace(/\n+$/, '')}\n\n${contextBlock(moment, zone)}`;
}

export function contextBlock(moment: string, zone: string): string {
  const at = read(moment, zone);
  const offset = at('timeZoneName').replace('GMT', 'UTC');
  return [
    `Current date: ${dayOf(moment, zone)} (${at('weekday')})`,
    `Current time: ${at('hour')}:${at('minute')}`,
    `Time zone: ${zone} (${offset === 'UTC' ? 'UTC+00:00' : offset})`,
  ].join('\n');
}

/** The day of a moment where the reader is, in ISO form. */
export function dayOf(moment: string, zone: string): string {
  const at = read(moment, zone);
  return `${at('year')}-${at('month')}-${at('day')}`;
}

function read(moment: string, zone: string): (type: Intl.DateTimeFormatPartTypes) => string {
  const parts = new Intl.DateTimeFormat('en-US', { ...PARTS, timeZone: zone }).formatToParts(new Date(moment));
  return (type) => parts.find((part) => part.type === type)?.value ?? '';
}
