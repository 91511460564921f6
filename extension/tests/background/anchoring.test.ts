import { describe, expect, it } from 'vitest';

import { AnchorRequest, outcomesOf } from '../../src/background/anchoring';

const claim = { id: 'c1', text: 'The Moon is made of cheese.', context: 'walk. The Moon is made of cheese. Then' };

describe('a request to anchor', () => {
  it('takes the page in pieces and answers with the claims', () => {
    const request = new AnchorRequest();
    expect(request.accept({ type: 'TEXT', raw: 'A walk. The Moon is ' })).toBeNull();
    expect(request.accept({ type: 'TEXT', raw: 'made of cheese. Then home.' })).toBeNull();
    const answer = request.accept({ type: 'CLAIMS', breaks: [], markers: [], claims: [claim] });
    expect(answer).toEqual({ anchorings: [{ claimId: 'c1', outcome: 'anchored', start: 8, end: 35 }] });
    expect(outcomesOf(answer!)).toEqual({ c1: 'anchored' });
  });

  it.each([
    { type: 'TEXT' },
    { type: 'TEXT', raw: 1 },
    { type: 'CLAIMS', breaks: [-1], markers: [], claims: [] },
    { type: 'X' },
  ])('refuses %j', (message) => expect(() => new AnchorRequest().accept(message)).toThrow('anchor'));

  it('does not swallow an endless page', () => {
    const request = new AnchorRequest();
    const raw = 'a'.repeat(5_000_000);
    for (let piece = 0; piece < 4; piece++) request.accept({ type: 'TEXT', raw });
    expect(() => request.accept({ type: 'TEXT', raw })).toThrow(RangeError);
  });
});
