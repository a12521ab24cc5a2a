// What is used of the npm package pyodide: a page and the extension load the same files.
import fs from 'node:fs';
import path from 'node:path';

const PACKAGE = path.join(import.meta.dirname, '..', 'node_modules', 'pyodide');
const FILES = ['pyodide.mjs', 'pyodide.asm.mjs', 'pyodide.asm.wasm', 'python_stdlib.zip', 'package.json'];
const LOCK = 'pyodide-lock.json';

export function copyPyodide(folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  for (const file of FILES) {
    fs.copyFileSync(path.join(PACKAGE, file), path.join(folder, file));
    fs.chmodSync(path.join(folder, file), 0o644);
  }
  // Of the packages that it lists none is loaded: the server's are bundled.
  const lock = JSON.parse(fs.readFileSync(path.join(PACKAGE, LOCK), 'utf8'));
  fs.writeFileSync(path.join(folder, LOCK), JSON.stringify({ ...lock, packages: {} }), { mode: 0o644 });
}
