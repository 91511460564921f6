// What a reader's browser makes of HTML: the rules of text, pictures and articles, written for the DOM on its own terms.
// They share nothing with the server's code but the sentences that describe them.

const BLOCKS = "p,li,h1,h2,h3,h4,h5,h6,figcaption,blockquote,tr,td,th,div";
const NEVER_TEXT = "script,style,noscript";
const NEVER_ARTICLE = ["mw-editsection", "catlinks", "printfooter", "references", "mw-references-wrap", "reflist",
  "noprint", "navbox", "vertical-navbox", "mw-collapsible-toggle", "mw-tmh-player"];
const NEVER_SECTION = ["references", "notes", "further reading", "external links", "bibliography", "sources",
  "citations"];

function normalized(text) {
  return text.normalize("NFC")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u2010-\u2015]/g, "-")
    .replace(/\u2026/g, "...")
    .replace(/[\u200b-\u200d\ufeff]/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

function parsed(html) {
  const root = document.createElement("div");
  root.innerHTML = html;
  return root;
}

// Text nodes with spaces at the edges of blocks, and the pictures between them.
function pieces(root) {
  const found = [];
  const visit = (node) => {
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) {
        found.push(child.data);
      } else if (child.nodeType === Node.ELEMENT_NODE) {
        const space = child.matches(BLOCKS);
        if (space) found.push(" ");
        if (child.localName === "img") found.push(child);
        visit(child);
        if (space) found.push(" ");
      }
    }
  };
  visit(root);
  return found;
}

function textOf(root) {
  return normalized(pieces(root).filter((piece) => typeof piece === "string").join(""));
}

function htmlText(html) {
  const root = parsed(html);
  for (const node of root.querySelectorAll(NEVER_TEXT)) node.remove();
  return textOf(root);
}

function resolved(source, base) {
  try {
    return new URL(source, base).href;
  } catch {
    return null;
  }
}

function caption(image) {
  const texts = [image.closest("figure")?.querySelector("figcaption")?.textContent, image.getAttribute("alt"),
    image.getAttribute("title")];
  return texts.map((text) => normalized(text ?? "")).find((text) => text) ?? null;
}

function pageImages({html, base}) {
  const root = parsed(html);
  let before = "";
  const occurrences = [];
  for (const piece of pieces(root)) {
    if (typeof piece === "string") {
      before += piece;
      continue;
    }
    const source = (piece.getAttribute("src") ?? "").trim();
    if (!source || source.startsWith("data:")) continue;
    const url = resolved(source, base);
    if (url) occurrences.push([url, normalized(before).length, caption(piece)]);
  }
  return {text: textOf(root), occurrences};
}

function headingOf(element) {
  if (/^h[2-6]$/.test(element.localName)) return element;
  if (element.localName !== "div" || !classes(element).includes("mw-heading")) return null;
  return Array.from(element.children).find((child) => /^h[2-6]$/.test(child.localName)) ?? null;
}

function classes(element) {
  return Array.from(element.classList, (name) => name.toLowerCase());
}

function articleText(html) {
  const root = parsed(html);
  const content = root.querySelector(".mw-parser-output") ?? root;
  for (const element of content.querySelectorAll("*")) {
    const names = classes(element);
    const excluded = element.matches(NEVER_TEXT) || names.some((name) => NEVER_ARTICLE.includes(name)) ||
      (element.localName === "sup" && names.includes("reference"));
    if (excluded) element.remove();
  }
  for (const heading of content.querySelectorAll("h2,h3,h4,h5,h6")) {
    if (!content.contains(heading)) continue;
    const title = (heading.querySelector(".mw-headline") ?? heading).textContent;
    if (!NEVER_SECTION.includes(normalized(title).toLowerCase())) continue;
    const wrapper = heading.parentElement;
    const first = wrapper !== content && headingOf(wrapper) === heading ? wrapper : heading;
    let next = first.nextElementSibling;
    first.remove();
    while (next) {
      const other = headingOf(next);
      if (other && other.localName <= heading.localName) break;
      const after = next.nextElementSibling;
      next.remove();
      next = after;
    }
  }
  return textOf(content);
}

function assigned(character) {
  return /\p{Assigned}/u.test(character);
}
