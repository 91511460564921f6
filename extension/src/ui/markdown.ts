/**
 * A finding's reasoning is untrusted Markdown: it is parsed to tokens and each node is built by hand.
 *
 * No string ever becomes HTML here. A token that is not in the tables below is shown as its text, so nothing new in the
 * parser can bring a new element, attribute or address along. Only http and https addresses become links; nothing loads.
 */
import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';

const ELEMENTS = new Map([
  ['paragraph', 'p'],
  ['em', 'em'],
  ['strong', 'strong'],
  ['del', 's'],
  ['blockquote', 'blockquote'],
  ['list_item', 'li'],
  // The panel has its own headings; these stand below them.
  ['heading', 'h3'],
]);
const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', '\u00a0'],
]);
const LONGEST = 50_000;

/** The Markdown as nodes of `doc`. */
export function renderMarkdown(doc: Document, markdown: string): DocumentFragment {
  const fragment = doc.createDocumentFragment();
  const text = markdown.slice(0, LONGEST);
  try {
    appendTokens(doc, Lexer.lex(text, { gfm: true, breaks: true }), fragment);
  } catch {
    // It nests deeper than calls may.
    fragment.replaceChildren(text);
  }
  return fragment;
}

/** What Svelte calls for an element that shows Markdown. */
export function fill(node: HTMLElement, markdown: string): { update: (markdown: string) => void } {
  const update = (text: string): void => node.replaceChildren(renderMarkdown(document, text));
  update(markdown);
  return { update };
}

/** The address if a link may lead there. */
export function safeHref(address: string): string | null {
  try {
    const url = new URL(address);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
  } catch {
    return null;
  }
}

/** A link that sends no referrer. */
export function createLink(doc: Document, href: string): HTMLAnchorElement {
  const anchor = doc.createElement('a');
  anchor.href = href;
  anchor.target = '_blank';
  anchor.rel = 'noopener noreferrer nofollow';
  return anchor;
}

function appendTokens(doc: Document, tokens: readonly Token[], into: Node): void {
  for (const token of tokens) appendToken(doc, token as MarkedToken, into);
}

function appendToken(doc: Document, token: MarkedToken, into: Node): void {
  switch (token.type) {
    case 'space':
    case 'def':
      break;
    case 'br':
    case 'hr':
      into.appendChild(doc.createElement(token.type));
      break;
    case 'codespan':
      into.appendChild(doc.createElement('code')).textContent = token.text;
      break;
    case 'code':
      into.appendChild(doc.createElement('pre')).textContent = token.text;
      break;
    case 'list':
      appendTokens(doc, token.items, into.appendChild(doc.createElement(token.ordered ? 'ol' : 'ul')));
      break;
    case 'table':
      appendTable(doc, token, into);
      break;
    case 'link': {
      const href = safeHref(decodeEntities(token.href));
      const link = href === null ? doc.createElement('span') : createLink(doc, href);
      appendTokens(doc, token.tokens, into.appendChild(link));
      break;
    }
    case 'image': // its alternative text
    case 'html':
      into.appendChild(doc.createTextNode(token.type === 'image' ? decodeEntities(token.text) : token.raw));
      break;
    default:
      appendOther(doc, token, into);
  }
}

function appendOther(doc: Document, token: MarkedToken, into: Node): void {
  const element = ELEMENTS.get(token.type);
  const here = element === undefined ? into : into.appendChild(doc.createElement(element));
  const children = 'tokens' in token ? token.tokens : undefined;
  if (children !== undefined && children.length > 0) appendTokens(doc, children, here);
  else here.appendChild(doc.createTextNode(decodeEntities('text' in token ? token.text : token.raw)));
}

function appendTable(doc: Document, table: Tokens.Table, into: Node): void {
  const element = into.appendChild(doc.createElement('table'));
  const addRow = (part: Node, cells: readonly Tokens.TableCell[], name: string): void => {
    const row = part.appendChild(doc.createElement('tr'));
    for (const cell of cells) appendTokens(doc, cell.tokens, row.appendChild(doc.createElement(name)));
  };
  addRow(element.appendChild(doc.createElement('thead')), table.header, 'th');
  const body = element.appendChild(doc.createElement('tbody'));
  for (const row of table.rows) addRow(body, row, 'td');
}

/** Text with the references that writers use; others stay as they are written. */
function decodeEntities(text: string): string {
  return text.replace(/&(#x?)?(\w{1,7});/gi, (whole: string, sign: string | undefined, name: string) => {
    if (sign === undefined) return ENTITIES.get(name) ?? whole;
    const code = Number(sign === '#' ? name : `0x${name}`);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
