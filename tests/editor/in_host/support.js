// What the cases of suite.js are written with.
const vscode = require('vscode');
const fs = require('node:fs');
const path = require('node:path');

const cases = [];

/** Declare a case. They run in order, in one window. */
exports.test = (name, body) => cases.push([name, body]);

exports.runAll = async () => {
  let failed = 0;
  for (const [name, body] of cases) {
    const start = Date.now();
    let error;
    try {
      await body();
    } catch (thrown) {
      failed += 1;
      error = String(thrown?.stack ?? thrown);
    }
    const seconds = (Date.now() - start) / 1000;
    console.log(`CASE ${JSON.stringify({ name, error, seconds })}`);
  }
  if (failed > 0) throw new Error(`${failed} cases failed`);
};

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The first truthy answer of `ask`; `what` is in the error when there is none. */
const until = (exports.until = async (what, ask, milliseconds = 60_000) => {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${milliseconds / 1000} s for ${what}`);
    await sleep(50);
  }
});

const root = () => vscode.workspace.workspaceFolders[0].uri;

/** Open a file of the workspace; the text is `content` if that is given. */
exports.open = async (name, content) => {
  const uri = vscode.Uri.joinPath(root(), name);
  if (content !== undefined) {
    fs.mkdirSync(path.dirname(uri.fsPath), { recursive: true });
    fs.writeFileSync(uri.fsPath, content);
  }
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document);
  return document;
};

exports.source = () => fs.readFileSync(vscode.Uri.joinPath(root(), 'smooth.cu').fsPath, 'utf8');

const ours = (exports.ours = (document) =>
  vscode.languages.getDiagnostics(document.uri).filter((diagnostic) => diagnostic.source === 'smem'));

const codeOf = (exports.codeOf = ({ code }) => (typeof code === 'object' ? code.value : code));

/** The diagnostic with this code, as soon as it is there. */
exports.finding = (document, code = 'SMEM301') =>
  until(`${code} in ${document.uri.path}`, () => ours(document).find((one) => codeOf(one) === code));

/**
 * The code actions of one kind, with the edits of all of them. VS Code cancels questions of its own accord on a busy
 * machine, with an empty answer or an error: ask again. That the server never answers so is a test of tests/server.
 */
exports.actionsAt = (document, range, kind) =>
  until('an answer about code actions', async () => {
    const provider = 'vscode.executeCodeActionProvider';
    try {
      const actions = await vscode.commands.executeCommand(provider, document.uri, range, kind.value, 20);
      return actions.length > 0 && actions;
    } catch (error) {
      if (!/Canceled/.test(String(error))) throw error;
      return undefined;
    }
  });

exports.silence = (document) => until(`no findings in ${document.uri.path}`, () => ours(document).length === 0);

/** Set one setting for the workspace, run `body`, set what was there before. */
exports.withSetting = async (name, value, body) => {
  const settings = () => vscode.workspace.getConfiguration('smem', root());
  const change = (to) => settings().update(name, to, vscode.ConfigurationTarget.Workspace);
  const before = settings().inspect(name)?.workspaceValue;
  await change(value);
  try {
    await body();
  } finally {
    await change(before);
  }
};

/** Process ids of the servers that this extension host runs. */
exports.servers = () =>
  fs.readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      const parent = /^\d+ \(.*\) \S+ (\d+)/s.exec(fs.readFileSync(`/proc/${entry}/stat`, 'utf8'))?.[1];
      return Number(parent) === process.pid && fs.readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes('serve.py');
    } catch {
      return false; // it has just ended
    }
  });
