/**
 * Titles of the sections that hold notes, references and further reading, by language.
 *
 * The same facts as the server's `platforms/wikipedia_sections.py`; a test compares both. English titles count in every
 * article; "See also" is content in every language.
 */

const ENGLISH = ['references', 'notes', 'further reading', 'external links', 'bibliography', 'sources', 'citations'];

const OTHER_LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  de: [
    'einzelnachweise', 'anmerkungen', 'anmerkungen und einzelnachweise', 'einzelnachweise und anmerkungen',
    'belege', 'fußnoten', 'quellen', 'literatur', 'weblinks',
    'nachweise', 'quellenangaben',
  ],
  es: [
    'referencias', 'notas', 'notas y referencias', 'referencias y notas', 'bibliografía', 'fuentes',
    'lecturas adicionales', 'enlaces externos',
  ],
  fr: [
    'notes et références', 'références', 'bibliographie', 'lectures complémentaires', 'lien externe',
    'liens externes',
    'notes et sources', 'références et notes',
  ],
  it: [
    'note', 'riferimenti', 'bibliografia', 'fonti', 'collegamenti esterni',
    'note e riferimenti',
  ],
  ja: [
    '脚注', '注釈', '出典', '参考文献', '関連文献', '外部リンク',
    '注釈・出典', '注釈と出典',
  ],
  nl: [
    'bronnen, noten en/of referenties', 'bronnen', 'noten', 'voetnoten', 'referenties', 'literatuur',
    'bibliografie', 'externe link', 'externe links',
    'bronvermelding', 'verder lezen',
  ],
  pl: [
    'przypisy', 'uwagi', 'bibliografia', 'źródła', 'literatura', 'linki zewnętrzne',
  ],
  pt: [
    'referências', 'notas', 'notas e referências', 'referências e notas', 'bibliografia', 'fontes',
    'leitura adicional', 'leituras adicionais', 'ligações externas',
    'leitura complementar',
  ],
  ru: [
    'примечания', 'сноски', 'источники', 'литература', 'библиография', 'ссылки',
  ],
  zh: [
    '参考文献', '參考文獻', '参考资料', '參考資料', '注释', '注釋', '註釋', '脚注', '腳註', '来源', '來源', '延伸阅读', '延伸閱讀', '外部链接', '外部連結',
    '参考来源', '參考來源', '注脚', '註腳',
  ],
}; // prettier-ignore

/** Titles left out in an article of a language, given as HTML's `lang` gives it. */
export function excludedSections(language: string): ReadonlySet<string> {
  const name = (language.split('-', 1)[0] ?? '').toLowerCase();
  return new Set([...ENGLISH, ...(Object.hasOwn(OTHER_LANGUAGES, name) ? (OTHER_LANGUAGES[name] ?? []) : [])]);
}
