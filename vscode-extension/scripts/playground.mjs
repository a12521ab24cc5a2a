// Builds the playground, a page that needs only to be served: node playground.mjs [FOLDER], ../build/playground without.
// `npm run playground` bundles the server before.
import { build } from 'esbuild';
import fs from 'node:fs';
import path from 'node:path';
import { loadPyodide } from 'pyodide';
import { copyPyodide } from './pyodide.mjs';

const out = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, '..', '..', 'build', 'playground'));
process.chdir(path.join(import.meta.dirname, '..'));
fs.mkdirSync(out, { recursive: true });
await build({
  entryPoints: ['playground/page.ts', 'playground/worker.ts'],
  outdir: out,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  loader: { '.cu': 'text' },
});
copyPyodide(path.join(out, 'pyodide'));

// The packages with byte code of the very Python that loads them, and the tables of the grammar.
const python = await loadPyodide({ env: { HOME: '/smem/cache', XDG_CACHE_HOME: '/smem/cache' } });
const show = (root, folder) => {
  python.FS.mkdirTree(folder);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, folder);
};
show(path.resolve('bundled/libs'), '/from/libs');
show(path.resolve('bundled/libs-webassembly'), '/from/more');
show(out, '/out');
const targets = python.runPython(`
import compileall, shutil, sys
from py_compile import PycInvalidationMode

for folder in ("libs", "more"):
    shutil.copytree(f"/from/{folder}", f"/smem/{folder}")
    sys.path.insert(0, f"/smem/{folder}")
from smem_lsp.targets import TARGETS

compileall.compile_dir("/smem", quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
shutil.make_archive("/out/engine", "zip", "/smem")
" ".join(TARGETS)
`);
const options = targets.split(' ').map((name) => `<option${name === 'sm_80' ? ' selected' : ''}>${name}</option>`);
const page = fs.readFileSync('playground/index.html', 'utf8').replace('<!-- targets -->', options.join(''));
fs.writeFileSync(path.join(out, 'index.html'), page);
for (const [from, to] of [
  ['playground/style.css', 'style.css'],
  ['bundled/webassembly-licenses.txt', 'licenses.txt'],
  ['icon.png', 'icon.png'],
]) {
  fs.copyFileSync(from, path.join(out, to));
}
console.log(`${out}: serve it with any web server, such as python3 -m http.server -d ${out}`);
