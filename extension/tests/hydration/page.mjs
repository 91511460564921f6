/** A post as a site makes it that React renders on its server and takes over in the browser, the whole document. */
import { createElement as h, useState } from 'react';

/** `about` is what `tests/extension/posts.py` says of a post on LessWrong. */
export function Page({ id, title, paragraphs }) {
  const [claps, setClaps] = useState(0);
  const about = JSON.stringify({ url: `https://www.lesswrong.com/posts/${id}/a-walk` });
  return h(
    'html',
    { lang: 'en' },
    h(
      'head',
      null,
      h('meta', { charSet: 'utf-8' }),
      h('link', { rel: 'icon', href: 'data:,' }),
      h('title', null, title),
    ),
    h(
      'body',
      null,
      h(
        'main',
        { id: 'postBody' },
        h('script', { type: 'application/ld+json', dangerouslySetInnerHTML: { __html: about } }),
        h('h1', null, title),
        h('span', { className: 'PostsAuthors-authorName' }, h('a', { href: '/users/ada' }, 'Ada')),
        h(
          'div',
          { className: 'PostsPage-postContent' },
          // Another key is another element: what was there is thrown away and rendered anew.
          h('div', { id: 'postContent', key: claps }, ...paragraphs.map((words) => h('p', null, words))),
        ),
        h('button', { onClick: () => setClaps(claps + 1) }, `Claps: ${claps}`),
      ),
    ),
  );
}
