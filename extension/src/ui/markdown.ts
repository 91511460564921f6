/**
 * A finding's reasoning is untrusted Markdown: it is parsed to tokens and each node is built by hand.
 *
 * No string ever becomes HTML here. A token that is not in the tables below is shown as its text, so nothing new in the
 * parser can bring a new element, attribute or address along. Only http and https addresses become links; nothing loads.
 */
import MarkdownIt, { type Token } from 'markdown-it';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });

const ELEMENTS = new Map([
  ...['p', 'em', 'strong', 's', 'ul', 'ol', 'li', 'blockquote', 'table', 'thead', 'tbody', 'tr', 'th', 'td'].map(
    (tag) => [tag, tag] as const,
  ),
  // The panel has its own headings; these stand below them.
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((tag) => [tag, 'h3'] as const),
]);
const LONGEST = 50_000;

/** The Markdown as nodes of `doc`. */
export function renderMarkdown(doc: Document, markdown: string): DocumentFragment {
  const fragment = doc.createDocumentFragment();
  appendTokens(doc, parser.parse(markdown.slice(0, LONGEST), {}), fragment);
  return fragment;
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
  const open: Node[] = [into];
  for (const token of tokens) {
    const here = open.at(-1)!;
    // The paragraphs of a tight list are there in name only.
    if (token.nesting === 1) open.push(token.hidden ? here : here.appendChild(createElementFor(doc, token)));
    else if (token.nesting === -1) {
      if (open.length > 1) open.pop();
    } else appendLeaf(doc, token, here);
  }
}

function createElementFor(doc: Document, token: Token): Node {
  if (token.type === 'link_open') {
    const href = safeHref(String(token.attrGet('href') ?? ''));
    return href === null ? doc.createElement('span') : createLink(doc, href);
  }
  return doc.createElement(ELEMENTS.get(token.tag) ?? 'span');
}

function appendLeaf(doc: Document, token: Token, into: Node): void {
  switch (token.type) {
    case 'inline':
      appendTokens(doc, token.children ?? [], into);
      break;
    case 'softbreak':
    case 'hardbreak':
      into.appendChild(doc.createElement('br'));
      break;
    case 'hr':
      into.appendChild(doc.createElement('hr'));
      break;
    case 'code_inline':
      into.appendChild(doc.createElement('code')).textContent = token.content;
      break;
    case 'code_block':
    case 'fence':
      into.appendChild(doc.createElement('pre')).textContent = token.content;
      break;
    default:
      // Pictures too: their alternative text.
      into.appendChild(doc.createTextNode(token.content));
  }
}
