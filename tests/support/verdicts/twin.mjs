/** The extension's own rules, from its sources: a line of JSON in (calls), a line out (results). */
import { registerHooks } from 'node:module';
import { createInterface } from 'node:readline';

// Imports inside the extension name no ending.
registerHooks({
  resolve: (name, context, next) => next(/^\.\.?\/(?:.*\/)?\w+$/.test(name) ? `${name}.ts` : name, context),
});
const folder = new URL('../../../extension/src/verdict/', import.meta.url);
const of = (name) => import(new URL(`${name}.ts`, folder).href);
const { salvage, salvageReply } = await of('salvage');
const { checkSources } = await of('sources');
const { countFamilies } = await of('families');
const { applyCaps } = await of('caps');
const { warnOfBand } = await of('bands');
const { contextBlock } = await of('context');
const { cut, fold } = await of('text');

const functions = { salvage, salvageReply, checkSources, countFamilies, applyCaps, warnOfBand, contextBlock, cut, fold };

for await (const line of createInterface({ input: process.stdin })) {
  const results = JSON.parse(line).map(([name, ...given]) => functions[name](...given));
  process.stdout.write(`${JSON.stringify(results)}\n`);
}
