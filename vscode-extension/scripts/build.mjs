// Bundles the extension into dist/extension.js and puts the licences of what went into it beside it.
import { build } from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';
import { copyPyodide } from './pyodide.mjs';
import { storedZip } from './stored_zip.mjs';

process.chdir(path.join(import.meta.dirname, '..'));
const common = { bundle: true, platform: 'node', target: 'node20', minify: true, metafile: true };
const { metafile } = await build({
  ...common,
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  format: 'cjs',
  external: ['vscode'],
});
// The server in a thread of its own, for machines without Python.
await build({ ...common, entryPoints: ['src/webAssembly/worker.mts'], outfile: 'dist/worker.mjs', format: 'esm' });
copyPyodide('dist/pyodide');
const library = 'dist/pyodide/python_stdlib.zip';
fs.writeFileSync(library, storedZip(fs.readFileSync(library)));

const packages = new Set();
for (const input of Object.keys(metafile.inputs)) {
  const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
const sections = [...packages].sort().map((folder) => {
  const { name, version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const licence = fs.readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  if (!licence) throw new Error(`${name} has no licence file`);
  return `${name} ${version}\n\n${fs.readFileSync(path.join(folder, licence), 'utf8').trim()}\n`;
});
fs.writeFileSync('dist/licenses.txt', sections.join(`\n${'-'.repeat(80)}\n\n`));
