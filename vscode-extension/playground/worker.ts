// The server in a thread of the page. Each message is one of LSP, as JSON.
import { serve, type PyodideModule } from '../src/webAssembly/engine';

// The types of a worker do not go together with those of a page.
declare const self: {
  location: { href: string };
  onmessage: (event: MessageEvent<string>) => void;
  postMessage(message: string): void;
};

const CACHE = '/smem/cache'; // filled when the page was built

// Not to be bundled: it looks for its own files beside itself.
const pyodide = './pyodide/pyodide.mjs';
const waiting: string[] = [];
self.onmessage = ({ data }) => waiting.push(data);

const archive = fetch(new URL('engine.zip', self.location.href));
const { loadPyodide } = (await import(pyodide)) as PyodideModule;
const python = await loadPyodide({
  indexURL: new URL('pyodide/', self.location.href).href,
  env: { HOME: CACHE, XDG_CACHE_HOME: CACHE },
  stdout: console.log,
  stderr: console.warn,
});
python.unpackArchive(await (await archive).arrayBuffer(), 'zip', { extractDir: '/smem' });
const receive = await serve(python, (message) => self.postMessage(message));
for (const message of waiting) receive(message);
self.onmessage = ({ data }) => receive(data);
