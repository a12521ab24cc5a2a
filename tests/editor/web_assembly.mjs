// A conversation with the server of the extension in its thread: node web_assembly.mjs EXTENSION WORKSPACE CACHE RESULTS
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const [extension, workspace, cache, results] = process.argv.slice(2);
const bundled = (name) => path.join(extension, 'bundled', name);
const worker = new Worker(path.join(extension, 'dist', 'worker.mjs'), {
  workerData: {
    pyodide: path.join(extension, 'dist', 'pyodide'),
    libs: [bundled('libs'), bundled('libs-webassembly')],
    cache,
  },
  resourceLimits: { stackSizeMb: 16 },
});
const answers = new Map();
const published = new Map();
const log = [];
worker.on('message', (message) => {
  if ('log' in message) return log.push(message.log);
  const { id, method, params, result, error } = JSON.parse(message.body);
  if (method === 'textDocument/publishDiagnostics') published.get(params.uri)?.(params.diagnostics);
  else if (method === undefined) answers.get(id)?.(result ?? error ?? null);
});
const ended = new Promise((resolve) => worker.on('exit', resolve));

const tell = (method, params) => worker.postMessage(JSON.stringify({ jsonrpc: '2.0', method, params }));
let count = 0;
function ask(method, params) {
  count += 1;
  worker.postMessage(JSON.stringify({ jsonrpc: '2.0', id: count, method, params }));
  return new Promise((resolve) => answers.set(count, resolve));
}
function open(uri, text) {
  tell('textDocument/didOpen', { textDocument: { uri, languageId: 'cuda-cpp', version: 1, text } });
  return new Promise((resolve) => published.set(uri, resolve));
}

const capabilities = {
  textDocument: {
    codeAction: {
      codeActionLiteralSupport: { codeActionKind: { valueSet: [] } },
      dataSupport: true,
      resolveSupport: { properties: ['edit'] },
    },
    hover: { contentFormat: ['markdown'] },
  },
  workspace: { workspaceEdit: { documentChanges: true } },
};
const root = pathToFileURL(workspace).href;
const { serverInfo } = await ask('initialize', { processId: null, rootUri: root, capabilities });
tell('initialized', {});

const file = path.join(workspace, 'smooth.cu');
const text = fs.readFileSync(file, 'utf8');
const uri = pathToFileURL(file).href;
const textDocument = { uri };
const diagnostics = await open(uri, text);
const merge = diagnostics.find((each) => each.code === 'SMEM301');
const context = { diagnostics: [merge] };
const actions = await ask('textDocument/codeAction', { textDocument, range: merge.range, context });
const preferred = actions.find((action) => action.title.startsWith('Merge'));
const { edit } = await ask('codeAction/resolve', preferred);
const position = merge.range.start;
const hover = await ask('textDocument/hover', { textDocument, position });
const [lens] = await ask('textDocument/codeLens', { textDocument });
const layout = await ask('smem/layout', { textDocument, position, format: 'svg' });

// Deep nesting ends in a finding or in silence, not with the thread.
const deep = `__global__ void k() { __shared__ int a[32]; a[0] = ${'('.repeat(5000)}1${')'.repeat(5000)}; }`;
await open('file:///deep.cu', deep);

await ask('shutdown');
tell('exit');
fs.writeFileSync(results, JSON.stringify({
  name: serverInfo.name,
  codes: diagnostics.map((each) => each.code),
  title: preferred.title,
  edits: edit.documentChanges[0].edits.length,
  hover: hover.contents.value,
  lens: lens.command.title,
  svg: layout.svg,
  log,
  exit: await ended,
}));
