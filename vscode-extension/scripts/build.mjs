// Bundles the extension into dist/extension.js and puts the licences of what went into it beside it.
import { build } from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';

process.chdir(path.join(import.meta.dirname, '..'));
const { metafile } = await build({
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  external: ['vscode'],
  minify: true,
  metafile: true,
});

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
