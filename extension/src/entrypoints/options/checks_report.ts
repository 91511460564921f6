/** A connection test of model and search in plain words. */
import type { Choice } from '../../settings/checks';
import { nameEngine, troubleOf } from '../../ui/check_texts';
import { say } from '../../ui/texts';
import type { ConnectionReport } from '../../verdict/check';
import type { Sentence } from './report';

/** A model that thinks aloud says more than fits on a line. */
const QUOTED = 80;

export function checksReportOf({ model, search }: ConnectionReport, choice: Choice): Sentence[] {
  const { host } = choice.model.address;
  const sentences: Sentence[] = [];
  if (model.ok) {
    const said = model.said.trim().slice(0, QUOTED);
    sentences.push({ good: true, words: say('testModel', [host, said, String(model.ms)]) });
  } else {
    const trouble = troubleOf({ at: 'failed', failure: model.failure });
    sentences.push({ good: false, words: `${trouble!.sentence} ${trouble!.advice}` });
  }
  const engine = nameEngine(choice.engine.name);
  if (search?.ok === true)
    sentences.push({ good: true, words: say('testSearch', [engine, String(search.results), String(search.ms)]) });
  else if (search !== null) sentences.push({ good: false, words: say('testSearchFailed', [engine, search.error]) });
  return sentences;
}
