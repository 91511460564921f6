/** Which differences from a recorded case our rules explain. */
import { describe, expect, test } from 'vitest';
import {
  correction,
  permission,
  refusal,
  unready,
  type RecordedClaim,
  type RecordedPage,
} from '../../vectors/differences';

describe('the rules of differences', () => {
  const page = (raw: string, checked = raw, holdsScripts = false): RecordedPage => ({ raw, checked, holdsScripts });
  const at = (raw: string, range: string): RecordedClaim => {
    const start = raw.indexOf(range);
    return { id: 'c', matched: true, start, end: start + range.length, range_text: range };
  };

  test.each([
    ['other_words', page('a quick fox'), 'quick fox', 'quick fix', ''],
    ['never_text', page('abxcd', 'ab cd', true), 'bx', 'bx', ''],
    ['across_blocks', page('onetwo', 'one two'), 'onetwo', 'onetwo', ''],
    ['cut_word', page('breadcrumb'), 'bread', 'bread', ''],
    ['joined', page('well-known fact'), 'known fact', 'known fact', ''],
    ['joined', page('and/or more'), 'or more', 'or more', ''],
    ['joined', page("it's fine"), 'it', 'it', ''],
    ['joined', page('see example.com'), 'see example', 'see example', ''],
    ['joined', page('5% of it'), '5', '5', ''],
    ['joined', page('cost $5'), '5', '5', ''],
    ['joined', page('20°C'), '20', '20', ''],
    ['cut_context', page('alphabet and gamma'), 'and', 'and', 'bet and'],
    ['ambiguous', page('a b. a c.'), 'a', 'a', ''],
    ['ambiguous', page('a b. a b.'), 'a', 'a', 'a b.'],
    ['other_sentence', page('it is old now'), 'is old', 'is old', 'it is old then'],
    [null, page('it is old now'), 'is old', 'is old', ''],
    [null, page('it is old now'), 'is old', 'is old', 'is old now'],
    [null, page('a b. a c.'), 'a', 'a', 'a b.'],
    [null, page('“a” — b', '"a" - b'), '“a” —', '"a" -', ''],
    [null, page('it fell, he said'), 'it fell', 'it fell', ''],
    [null, page('it fell.'), 'it fell', 'it fell', ''],
    [null, page('(it fell)'), 'it fell', 'it fell', ''],
    [null, page('so: it fell'), 'it fell', 'it fell', ''],
    [null, page('“it fell”'), 'it fell', 'it fell', ''],
    [null, page('it fell🦇'), 'it fell', 'it fell', ''],
    [null, page('🦇it fell™'), 'it fell', 'it fell', ''],
  ])('refused for %s', (rule, recorded, range, text, context) => {
    expect(refusal(recorded, at(recorded.raw, range), { text, context })).toBe(rule);
  });

  test.each([
    ['unsaved', '?action=edit', '6', 'unsupported'],
    ['unsaved', '?diff=6', '6', 'unsupported'],
    ['unsaved', '', '0', 'missing_identity'],
    [null, '', '6', 'unsupported'],
    [null, '?action=view', '6', 'unsupported'],
    [null, '', '6', 'missing_identity'],
    [null, '?action=edit', '6', 'hydrating'],
  ])('not ready for %s', (rule, asked, revisionId, reason) => {
    const recorded = { adapter: 'WIKIPEDIA', result: { kind: 'ready', content: { metadata: { revisionId } } } };
    expect(unready({ url: `https://en.wikipedia.org/wiki/Bread${asked}`, html: '' }, recorded, reason)).toBe(rule);
  });

  test.each([
    ['stale', 'other', 'hydrating'],
    [null, 'bread', 'hydrating'],
    [null, 'other', 'missing_identity'],
  ])('not ready for %s: %s', (rule, slug, reason) => {
    const html = `<meta property="og:url" content="https://a.substack.com/p/${slug}">`;
    const recorded = { adapter: 'SUBSTACK', result: { kind: 'ready' } };
    expect(unready({ url: 'https://a.substack.com/p/bread', html }, recorded, reason)).toBe(rule);
  });

  test.each([
    ['block_edge', page('onetwo', 'one two'), 'onetwo', 'one two', ''],
    ['typography', page('co\u00adop is'), 'co\u00adop', 'coop', ''],
    ['typography', page('100 °C[1] at sea'), '°C[1] at', '°C at', ''],
    ['whole_words', page('art, party'), 'art', 'art', ''],
    ['whole_words', page('Caf\u00e9 e\u0301'), 'e\u0301', '\u00e9', ''],
    ['nearest_context', page('it\u00a0fell. it fell in May.'), 'it\u00a0fell', 'it fell', 'it fell. So'],
    ['nearest_context', page('it fell. it fell in May.'), 'it fell', 'it fell', 'it fell. So'],
    [null, page('a b'), 'a b', 'a c', ''],
    [null, page('coop. co\u00adop.'), 'co\u00adop', 'coop', ''],
    [null, page('it is old'), 'is old', 'is old', ''],
    [null, page('one two one two'), 'one two', 'one two', ''],
    [null, page('it fell. it fell.'), 'it fell', 'it fell', 'it fell.'],
  ])('permitted for %s', (rule, recorded, range, text, context) => {
    const start = recorded.raw.indexOf(range);
    const own = { start, end: start + range.length, range };
    expect(permission(recorded, own, { text, context })).toBe(rule);
  });

  test.each([
    ['other_words', page('the quick fox'), 'e quick fo', 'quick fox', 'quick fox'],
    ['bare_edge', page('quick\u200b fox'), 'quick\u200b', 'quick', 'quick'],
    ['bare_edge', page('soft\u00adhyphen'), 'soft\u00ad', 'soft', 'soft\u00ad'],
    ['whole_words', page('soaked oak.'), 'oak', 'oak.', 'oak'],
    [null, page('soaked oak. oak'), 'oak', 'oak.', 'oak'],
    [null, page('fox fox'), 'fox', 'fox', 'fox'],
    [null, page('quick fox'), 'quick', 'fox', 'quick'],
    [null, page('the quick fox'), 'the', 'quick fox', 'quick fox'],
  ])('placed again for %s', (rule, recorded, before, range, text) => {
    const start = recorded.raw.indexOf(range);
    const own = { start, end: start + range.length, range };
    expect(correction(recorded, at(recorded.raw, before), own, { text, context: '' })).toBe(rule);
  });
});
