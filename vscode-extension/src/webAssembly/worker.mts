// The server where there is no Python: a thread of Node with a Python made of WebAssembly. The host of the extension
// hands over each message as JSON and gets objects of `FromWorker`.
import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { LIBS, serve, type PyodideModule } from './engine.js';
import type { FromWorker, WorkerData } from './messages.js';

// Python's own folders, and what the system shows of itself.
const NOT_SHOWN = new Set(['dev', 'lib', 'proc', 'smem', 'sys']);
const CACHE = '/smem/cache';

const port = parentPort;
if (!port) throw new Error('This runs in a worker thread.');
const { pyodide, libs, cache } = workerData as WorkerData;
const say = (message: FromWorker): void => port.postMessage(message);

const { loadPyodide } = (await import(pathToFileURL(path.join(pyodide, 'pyodide.mjs')).href)) as PyodideModule;
const python = await loadPyodide({
  indexURL: pyodide,
  // The grammar and the byte code of the packages are made once, and half of the start is saved from then on.
  env: { HOME: CACHE, XDG_CACHE_HOME: CACHE, PYTHONPYCACHEPREFIX: `${CACHE}/byte-code` },
  stdout: (log) => say({ log }),
  stderr: (log) => say({ log }),
});
const show = (root: string, folder: string): void => {
  python.FS.mkdirTree(folder);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, folder);
};
show(libs[0], LIBS[0]);
show(libs[1], LIBS[1]);
fs.mkdirSync(cache, { recursive: true });
show(cache, CACHE);
for (const folder of foldersOfTheDisk()) show(fs.realpathSync(folder), folder);
python.FS.chdir('/'); // the folder it starts in may be hidden now
python.runPython('import sys; sys.dont_write_bytecode = False');

const receive = await serve(python, (body) => say({ body }));
port.on('message', (message: string) => {
  const code = receive(message);
  if (code !== undefined) process.exit(code);
});

/** Files have the same names in there as outside. On Windows, where they cannot, nothing is read from the disk. */
function foldersOfTheDisk(): string[] {
  if (process.platform === 'win32') return [];
  const names = fs.readdirSync('/').filter((name) => !NOT_SHOWN.has(name));
  return names.map((name) => `/${name}`).filter(isFolder);
}

function isFolder(file: string): boolean {
  try {
    return fs.statSync(file).isDirectory();
  } catch {
    return false; // a link to nothing, or a disk that does not answer
  }
}
