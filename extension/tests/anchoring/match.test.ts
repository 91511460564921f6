import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anchorClaims, type Anchoring, type WalkedText } from '../../src/anchoring';

function page(raw: string, rest: Partial<WalkedText> = {}): WalkedText {
  return { raw, breaks: [], markers: [], ...rest };
}

function one(text: WalkedText, quote: string, context = ''): Anchoring {
  return anchorClaims(text, [{ id: 'c', text: quote, context }])[0]!;
}

function words(text: WalkedText, quote: string, context = ''): string {
  const found = one(text, quote, context);
  return found.outcome === 'anchored' ? text.raw.slice(found.start, found.end) : found.outcome;
}

describe('a quote that stands on the page', () => {
  it.each([
    ['She said “it’s done” — and left…', '"it\'s done" - and left...', '“it’s done” — and left…'],
    ['The Donau\u00addampf\u00adschiff sank.', 'Donaudampfschiff sank', 'Donau\u00addampf\u00adschiff sank'],
    ['The \ufb01nal o\ufb03ce hours.', 'final office hours', '\ufb01nal o\ufb03ce hours'],
    ['ראש הממשלה \u200fנולד ב־1950 בעיר.', 'ראש הממשלה נולד', 'ראש הממשלה \u200fנולד'],
    ['ولد \u202bالكاتب\u202c في القاهرة.', 'الكاتب في القاهرة', 'الكاتب\u202c في القاهرة'],
    ['Rockets 🚀🚀 fly. 👩‍🚀 too.', '🚀🚀 fly. 👩‍🚀', '🚀🚀 fly. 👩‍🚀'],
    ['a line\n   broken\there', 'line broken here', 'line\n   broken\there'],
    ['Cafe\u0301 de Paris', 'Café de', 'Cafe\u0301 de'],
    ['𝒳 is 𝒴 here', '𝒴', '𝒴'],
  ])('%j: %j', (raw, quote, shown) => {
    expect(words(page(raw), quote)).toBe(shown);
  });

  it('may reach across blocks that no white space parts', () => {
    const text = page('First sentence.Second one.', { breaks: [0, 15, 26] });
    expect(words(text, 'First sentence. Second one.')).toBe('First sentence.Second one.');
    expect(words(text, 'Second one')).toBe('Second one');
  });

  it('may have been glued where the page only breaks the line', () => {
    expect(words(page('endstart', { breaks: [3] }), 'endstart')).toBe('endstart');
  });

  it('is not found inside longer words, numbers or names', () => {
    for (const [raw, quote] of [
      ['It was ineffective then.', 'effective'],
      ['It cost 5,000 euros.', 'It cost 5'],
      ['It cost 15 euros.', '5 euros'],
      ['It cost €5 then.', '5 then'],
      ['It fell by 5% then.', 'fell by 5'],
      ['It fell by ~5 then.', '5 then'],
      ['It is -5 now.', '5 now'],
      ['It is 5°C now.', 'It is 5'],
      ['In 1990–1995 it fell.', 'In 1990'],
      ['From 5→6 it rose.', 'From 5'],
      ['It cost 5.5 then.', 'It cost 5.'],
      ['See example.com now.', 'See example.'],
      ['A 👩‍🚀 flew.', 'A 👩'],
      ['A 👍🏽 came.', 'A 👍'],
    ]) {
      expect(words(page(raw!), quote!), `${quote} in ${raw}`).toBe('changed');
    }
  });

  it('is not underlined where a sign may make it a part of something else, and is not reported as changed', () => {
    for (const [raw, quote] of [
      ['It is a well-known fact.', 'a well'],
      ['It is a well-known fact.', 'known fact'],
      ["They don't know.", 'They don'],
      ['See example.com now.', 'See example'],
      ['Use snake_case here.', 'case here'],
      ['Write me@here.example now.', 'here.example now'],
      ['It is written in C# now.', 'written in C'],
      ['Salt and/or sugar.', 'or sugar'],
      ['It is a±b now.', 'b now'],
    ]) {
      expect(words(page(raw!), quote!), `${quote} in ${raw}`).toBe('joined');
    }
    const context = 'Use it with salt and/or sugar';
    expect(words(page('Use it with salt and/or sugar/syrup.'), 'sugar', context)).toBe('joined');
  });

  it('stands beside pictures, arrows and marks', () => {
    for (const [before, after] of [
      ['', '🦇'],
      ['🦇', ''],
      ['→', ''],
      ['', '→'],
      ['*', '*'],
      ['**', '**'],
      ['_', '_'],
      ['__', '__'],
      ['~', '~'],
      ['~~', '~~'],
      ['`', '`'],
      ['|', '|'],
      ['#', ''],
      ['@', ''],
      ['', '™'],
      ['', '®'],
      ['', '©'],
      ['✅', '❌'],
      ['■', '●'],
      ['👍🏽', '👍🏽'],
      ['🇩🇪', '🇩🇪'],
      ['', '❤️'],
      ['x🦇', '🦇x'],
      ['', '🦇🦇'],
    ]) /* prettier-ignore */ {
      const quote = 'Bats are blind';
      for (const context of ['', quote, `${before}${quote}${after}`]) {
        const raw = `Some say: ${before}${quote}${after} and more.`;
        expect(words(page(raw), quote, context), `${raw} / ${context}`).toBe(quote);
      }
    }
    expect(words(page('Bats are blind🦇 they say.'), '🦇 they say')).toBe('🦇 they say');
    expect(words(page('Rockets 🚀🚀 fly.'), 'Rockets 🚀')).toBe('Rockets 🚀');
  });

  it('ends with its own full stop where the next sentence follows without a space', () => {
    for (const quote of ['Bats are blind.', 'Bats are blind!', 'Bats are blind?', '"Bats are blind"', 'चमगादड़ अंधे हैं।']) {
      expect(words(page(`Look: ${quote}See how they fly.`), quote)).toBe(quote);
    }
  });

  describe('in a script without spaces', () => {
    const raw = '東京は首都である。人口は1400万人で、都市圏は世界最大だ！「本当」と言う。';
    it.each([
      ['人口は1400万人で、都市圏は世界最大だ！', ''],
      ['人口は1400万人で、都市圏は世界最大だ', ''],
      ['都市圏は世界最大だ', ''],
      ['「本当」', ''],
      ['人口は1400万人で、都市圏は世界最大だ！', '首都である。人口は1400万人で、都市圏は世界最大だ！「本当」と'],
      ['東京は首都である。', '東京は首都である。人口は'],
      ['都市圏', '万人で、都市圏は世界'],
    ])('is found between its neighbours: %s / %s', (quote, context) => {
      expect(words(page(raw), quote, context)).toBe(quote);
    });

    it.each([
      ['这是可能的，他说。', '他说', '', 'anchored'],
      ['ปลาอยู่ในน้ำเสมอไป', 'อยู่ในน้ำ', 'ปลาอยู่ในน้ำเสมอ', 'anchored'],
      ['ปลาอยู่ในน้ำเสมอไป', 'อยู่ในน้ำ', 'ปลาอยู่ในน้ำ', 'changed'],
      ['这是不可能的。', '可能的。', '', 'changed'],
      ['这是不可能的。', '可能的。', '可能的。', 'changed'],
      ['这是不可能的。', '可能的。', '这是可能的。', 'changed'],
      ['人口は1400万人だ。', '人口は1400', '', 'changed'],
      ['人口は1400万人だ。', '人口は14', '人口は14', 'changed'],
      ['約13.5倍だ。', '倍だ', '3.5倍だ', 'changed'],
    ])('is no part of what may be a longer word: %s: %s / %s', (text, quote, context, outcome) => {
      expect(one(page(text), quote, context).outcome).toBe(outcome);
    });
  });

  it('may begin with the punctuation that ends the word before it', () => {
    const raw = 'Vienna (1918), the capital, is large. So… they say.';
    for (const quote of [', the capital', ', is large', '), the capital', '. So', '… they say']) {
      expect(words(page(raw), quote)).toBe(quote);
      expect(words(page(raw), quote.replace(/^\W+/, ''), quote), quote).toBe(quote.replace(/^\W+/, ''));
    }
    for (const quote of ['.5 now', ',000 now', "'t now", '-known now']) {
      expect(words(page(`It was 5${quote}.`), quote), quote).not.toBe(quote);
    }
  });

  it('ends at punctuation, quotation marks and long dashes', () => {
    for (const [raw, quote] of [
      ['“It fell,” he said.', 'It fell'],
      ['It fell—nobody knows why.', 'It fell'],
      ['It fell (in May).', 'in May'],
      ['It fell; it rose.', 'It fell'],
      ['It fell: by 5.', 'by 5'],
    ]) {
      expect(words(page(raw!), quote!), `${quote} in ${raw}`).toBe(quote);
    }
  });

  it('may cut a word where its context shows the rest of it', () => {
    expect(words(page('Der Flughafenbau ruht.'), 'bau ruht', 'Der Flughafenbau ruht.')).toBe('bau ruht');
    expect(words(page('这座桥于一九八六年通车。'), '一九八六年', '这座桥于一九八六年通车。')).toBe('一九八六年');
  });
});

describe('a quote that stands there more than once', () => {
  const raw = 'The mayor resigned. Nobody asked. The mayor resigned. Then she left.';

  it('is ambiguous without a context, never the first', () => {
    expect(one(page(raw), 'The mayor resigned.').outcome).toBe('ambiguous');
  });

  it('is placed by its context', () => {
    expect(one(page(raw), 'The mayor resigned.', 'asked. The mayor resigned. Then')).toMatchObject({
      start: 34,
      end: 53,
    });
    expect(one(page(raw), 'The mayor resigned.', 'The mayor resigned. Nobody')).toMatchObject({ start: 0, end: 19 });
  });

  it('stays ambiguous when the context does not decide', () => {
    expect(one(page(raw), 'The mayor resigned.', 'The mayor resigned.').outcome).toBe('ambiguous');
    expect(one(page(raw), 'The mayor resigned.', 'He cried. The mayor resigned. So what?').outcome).toBe('ambiguous');
  });

  it('is placed by the sentence it is a part of', () => {
    const text = page('In May the mayor resigned. In June the mayor resigned. ');
    expect(one(text, 'the mayor resigned', 'In June the mayor resigned.')).toMatchObject({ start: 35, end: 53 });
  });
});

describe('the context', () => {
  it('is of no use when the quote is not in it', () => {
    expect(words(page('The dam broke at dawn.'), 'dam broke', 'something else')).toBe('dam broke');
  });

  it('may be cut off with an ellipsis', () => {
    const raw = 'Early on, the old dam broke at dawn. People fled.';
    expect(words(page(raw), 'dam broke', '...the old dam broke at dawn…')).toBe('dam broke');
  });

  it('may differ in other sentences', () => {
    const raw = 'Everything was fine. The dam broke at dawn. People fled at once.';
    expect(words(page(raw), 'The dam broke at dawn.', 'Everything was good. The dam broke at dawn. Some fled.')).toBe(
      'The dam broke at dawn.',
    );
  });

  it('does not end a sentence at an abbreviation', () => {
    const context = 'It was not Dr. Who that opened the door.';
    expect(words(page('It was surely Dr. Who that opened the door.'), 'opened the door', context)).toBe('changed');
  });
});

describe('footnote markers', () => {
  const marked = page('The dam[1] broke2 at dawn.[3]', {
    markers: [
      [7, 10],
      [16, 17],
      [26, 29],
    ],
  });

  it('may stand inside the sentence now', () => {
    expect(words(marked, 'The dam broke at dawn.')).toBe('The dam[1] broke2 at dawn.');
  });

  it('may have stood there when it was checked', () => {
    expect(words(marked, 'The dam[1] broke2 at dawn.[3]')).toBe('The dam[1] broke2 at dawn.[3]');
  });

  it('may have been renumbered', () => {
    const raw = 'The dam[4] broke at dawn.';
    expect(words(page(raw, { markers: [[7, 10]] }), 'The dam[1] broke at dawn.')).toBe(raw);
  });

  it('are not what looks like one in running text', () => {
    expect(words(page('The first element is list[1] in this language.'), 'element is list[0] in this')).toBe('changed');
  });
});

describe('a quote that is not there', () => {
  it('has changed when something close to it is there', () => {
    expect(words(page('The old dam broke at dusk in June.'), 'The old dam broke at dawn in June.')).toBe('changed');
  });

  it('is missing otherwise', () => {
    const raw = 'A page about gardening, with roses, tulips and the weather of the valley in June.';
    expect(words(page(raw), 'The old dam broke at dawn and flooded four villages.')).toBe('missing');
    expect(words(page(''), 'The old dam broke at dawn.')).toBe('missing');
    expect(words(page(raw), '')).toBe('missing');
    expect(words(page(raw), '\u200b ')).toBe('missing');
  });
});

describe('properties', () => {
  const word = fc.stringMatching(/^[a-z]{2,9}$/);
  const sentence = fc.array(word, { minLength: 4, maxLength: 9 });

  it('any edit of one word leaves nothing anchored', () => {
    fc.assert(
      fc.property(sentence, fc.nat(), word, ([...checked], which, other) => {
        const at = which % checked.length;
        fc.pre(checked[at] !== other);
        const now = checked.with(at, other);
        expect(one(page(`Before. ${now.join(' ')}. After.`), checked.join(' ')).outcome).not.toBe('anchored');
      }),
    );
  });

  it('what is anchored reads the same, however it is set', () => {
    const setting = fc.constantFrom(' ', '\n', ' \u200b', '\u00a0', ' \u00ad');
    fc.assert(
      fc.property(fc.array(fc.tuple(word, setting), { minLength: 3, maxLength: 9 }), (set) => {
        const raw = set.map(([one, space]) => one + space).join('');
        const quote = set.map(([one]) => one).join(' ');
        expect(words(page(`zz1 ${raw} zz2`), quote)).toBe(raw.slice(0, raw.length - set.at(-1)![1].length));
      }),
    );
  });

  it('a page of the same sentence many times over is ambiguous, and soon', () => {
    expect(one(page('It rained. '.repeat(20_000)), 'It rained.').outcome).toBe('ambiguous');
  });

  it('a place is not unique because the search stopped early', () => {
    const raw = `It rained. ${'Brained. '.repeat(3_000)}`;
    expect(words(page(raw), 'rained')).toBe('ambiguous');
  });

  it('whatever comes, each claim gets one outcome inside the page', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), fc.string(), (raw, quote, context) => {
        const found = one(page(raw), quote, context);
        if (found.outcome === 'anchored') expect(found.end).toBeGreaterThan(found.start);
      }),
    );
  });
});
