// Runs inside the extension host of a real VS Code with the VSIX installed. test_in_host.py lists the cases.
const vscode = require('vscode');
const fs = require('node:fs');
const assert = require('node:assert/strict');
const { actionsAt, codeOf, finding, open, ours, runAll, servers, silence, source, test, until, withSetting } = require('./support');

exports.run = runAll;

/** The quick fixes of a finding, with their edits. */
async function quickFixes(document) {
  const { range } = await finding(document);
  const actions = await actionsAt(document, range, vscode.CodeActionKind.QuickFix);
  const byTitle = (start) => {
    const found = actions.find((action) => action.title.startsWith(start));
    assert.ok(found, `no "${start}" among: ${actions.map((action) => action.title).join(' | ')}`);
    return found;
  };
  return { merge: byTitle('Merge signal + peaks: −8,192 B'), suppress: byTitle('Suppress SMEM301') };
}

test('the installed extension serves a CUDA file', async () => {
  const document = await open('smooth.cu');
  const extension = vscode.extensions.getExtension('smem-lsp.smem-lsp');
  assert.ok(extension, 'not installed');
  assert.equal(document.languageId, 'cuda-cpp');
  await until('activation', () => extension.isActive);
  await until('a server', () => servers().length === 1);
});

test('a finding arrives with its code, its place and what belongs to it', async () => {
  const document = await open('smooth.cu');
  const one = await finding(document);
  assert.equal(document.getText(one.range), 'peaks');
  assert.equal(one.severity, vscode.DiagnosticSeverity.Warning);
  assert.match(one.message, /24,576 → 16,384 B/);
  assert.equal(document.getText(one.relatedInformation[0].location.range), 'signal');
});

test('the code of a finding is a link to the page of its rule', async () => {
  const { code } = await finding(await open('smooth.cu'));
  assert.deepEqual([code.target.scheme, code.target.path], ['command', 'smem.showRule']);
  await vscode.commands.executeCommand(code.target.path, ...JSON.parse(code.target.query));
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const page = await until('the page', () => tabs().find((tab) => /SMEM301/.test(tab.label)));
  await vscode.window.tabGroups.close(page);
  const source = await vscode.workspace.openTextDocument(vscode.Uri.parse('smem-rule:/SMEM301.md'));
  assert.match(source.getText(), /^# SMEM301 mergeable-buffers\n[^]*## Why/);
});

test('the light bulb offers the merge, and a comment that silences', async () => {
  const document = await open('smooth.cu');
  const { merge, suppress } = await quickFixes(document);
  assert.equal(merge.isPreferred, true);
  const [[, [edit]]] = suppress.edit.entries();
  assert.equal(edit.newText, '  // smem: ignore-next-line[SMEM301]\n');
});

test('the applied merge leaves nothing to find, and undo brings it back', async () => {
  const document = await open('smooth.cu');
  const before = document.getText();
  const { merge } = await quickFixes(document);
  assert.ok(await vscode.workspace.applyEdit(merge.edit));
  await silence(document);
  assert.match(document.getText(), /reinterpret_cast<float \(\*\)\[PEAKS\]>\(&signal\)/);
  await vscode.commands.executeCommand('undo');
  assert.equal(document.getText(), before);
  await finding(document);
});

test('the comment silences', async () => {
  const document = await open('smooth.cu');
  const { suppress } = await quickFixes(document);
  assert.ok(await vscode.workspace.applyEdit(suppress.edit));
  await silence(document);
  await vscode.commands.executeCommand('undo');
});

test('a hover says what the buffer costs', async () => {
  const document = await open('smooth.cu');
  const { range } = await finding(document);
  const hovers = await vscode.commands.executeCommand('vscode.executeHoverProvider', document.uri, range.start);
  const text = hovers.flatMap((hover) => hover.contents.map((content) => content.value ?? content)).join('\n');
  assert.match(text, /8,192/);
});

test('what is offered while settings change can be done', async () => {
  const document = await open('smooth.cu');
  const { range } = await finding(document);
  for (const registers of [32, 36, 44, 48]) {
    await withSetting('registers', registers, async () => {
      for (let asked = 0; asked < 4; asked += 1) {
        const actions = await actionsAt(document, range, vscode.CodeActionKind.QuickFix);
        assert.equal(actions.length, 2, `${actions.length} actions with ${registers} registers`);
        assert.ok(actions.every((action) => action.edit), `no edit with ${registers} registers`);
      }
    });
  }
});

test('the lens over the kernel opens the memory map', async () => {
  const document = await open('smooth.cu');
  const lens = await until('a lens', async () => {
    const lenses = await vscode.commands.executeCommand('vscode.executeCodeLensProvider', document.uri, 10);
    return lenses?.find((one) => one.command?.command === 'smem.openMap');
  });
  assert.match(document.lineAt(lens.range.start.line).text, /__global__.*smooth/);
  assert.match(lens.command.title, /24\.0 → 16\.0 KiB · 4 → (≤ )?5 blocks\/SM/);
  await vscode.commands.executeCommand(lens.command.command, ...lens.command.arguments);
  const maps = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter((tab) => /memory map$/.test(tab.label));
  const map = await until('the map', () => maps()[0]);
  assert.equal(map.label, 'smooth.cu:8 memory map');
  assert.match(map.input.viewType, /smem\.map$/);
  await vscode.commands.executeCommand(lens.command.command, ...lens.command.arguments);
  assert.equal(maps().length, 1, 'the same map again is the same tab');
  await vscode.window.tabGroups.close(map);
});

test('a severity setting is in force at once', async () => {
  const document = await open('smooth.cu');
  await finding(document);
  const isInformation = () => ours(document)[0]?.severity === vscode.DiagnosticSeverity.Information;
  await withSetting('severity', { SMEM301: 'info' }, () => until('an information', isInformation));
  await withSetting('severity', { SMEM301: 'off' }, () => silence(document));
  await finding(document);
});

test('the old key of one severity still works', async () => {
  const document = await open('smooth.cu');
  const file = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, '.vscode/settings.json').fsPath;
  const before = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(before), 'smem.severity.SMEM301': 'off' }));
  try {
    await silence(document);
  } finally {
    fs.writeFileSync(file, before);
  }
  await finding(document);
});

test('the target that is chosen rules, and the item in the status bar is asked for it', async () => {
  const document = await open('smooth.cu');
  const lens = async () => {
    const lenses = await vscode.commands.executeCommand('vscode.executeCodeLensProvider', document.uri, 10);
    return lenses?.find((one) => one.command?.command === 'smem.openMap')?.command.title ?? '';
  };
  await withSetting('arch', ['sm_90', 'sm_86'], async () => {
    await withSetting('target', 'sm_86', () => until('sm_86', async () => (await lens()).includes('4 → 5 blocks/SM')));
    await withSetting('target', 'worst', () => until('sm_86', async () => (await lens()).includes('4 → 5 blocks/SM')));
    await until('sm_90', async () => (await lens()).includes('6 blocks/SM'));
    assert.ok(!(await lens()).includes('sm_'), 'the target is in the status item');
  });
});

test('the map applies a layout, behind a comparison', async () => {
  const document = await open('smooth.cu');
  const before = document.getText();
  const uri = document.uri.toString();
  await vscode.commands.executeCommand('smem.openMap', { uri, position: { line: 7, character: 43 } });
  await vscode.commands.executeCommand('smem.applyLayout', 0);
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const compared = await until('the comparison', () => tabs().find(({ input }) => input instanceof vscode.TabInputTextDiff));
  assert.equal(compared.label, 'Merge signal + peaks: −8,192 B, 4 → 5 blocks');
  assert.equal(document.getText(), before, 'nothing is changed yet');
  await vscode.commands.executeCommand('smem.applyPreview');
  assert.match(document.getText(), /reinterpret_cast<float \(\*\)\[PEAKS\]>\(&signal\)/);
  await until('no comparison', () => !tabs().some(({ input }) => input instanceof vscode.TabInputTextDiff));
  await vscode.window.tabGroups.close(tabs().filter((tab) => /memory map$/.test(tab.label)));
  await open('smooth.cu');
  await vscode.commands.executeCommand('undo');
  await until('the text of before', () => document.getText() === before);
});

test('the gutter shows where the buffer under the cursor holds a value', async () => {
  const document = await open('smooth.cu');
  const { gutter } = vscode.extensions.getExtension('smem-lsp.smem-lsp').exports;
  const put = (word) => {
    const at = document.positionAt(document.getText().indexOf(word));
    vscode.window.activeTextEditor.selection = new vscode.Selection(at, at);
  };
  put('peaks[t');
  const shown = await until('stripes', () => gutter.shown);
  assert.equal(shown.buffer, 'peaks');
  assert.deepEqual(shown.lines, [[22, 29]]);
  assert.match(shown.barriers[0].words, /^orders the write at line 23 before the read at line 27$/);
  put('int t =');
  await until('no stripes', () => gutter.shown === undefined);
  await withSetting('gutter.enable', false, async () => {
    put('peaks[t');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.equal(gutter.shown, undefined);
  });
});

test('a race is shown beside the source, and its steps select their lines', async () => {
  const racy = source().replace('__syncthreads();', '');
  const document = await open('racy.cu', racy);
  const { range } = await finding(document, 'SMEM201');
  const actions = await actionsAt(document, range, vscode.CodeActionKind.QuickFix);
  const show = actions.find((action) => action.title === 'Show the race, step by step');
  assert.ok(show, actions.map((action) => action.title).join(' | '));
  await vscode.commands.executeCommand(show.command.command, ...show.command.arguments);
  const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const race = await until('the replay', () => tabs().find((tab) => /^Race in smooth$/.test(tab.label)));
  await until('the first step', () => vscode.window.visibleTextEditors[0]?.selection.active.line === 12);
  await vscode.window.tabGroups.close(race);
});

test('a scan finds what is in files that nobody has opened', async () => {
  const folder = vscode.workspace.workspaceFolders[0].uri;
  const closed = vscode.Uri.joinPath(folder, 'not open.cu');
  fs.writeFileSync(closed.fsPath, source().replace('__syncthreads();', ''));
  const { scan } = vscode.extensions.getExtension('smem-lsp.smem-lsp').exports;
  const found = await scan.run();
  assert.equal(found[0].label, 'SMEM201', 'races come first');
  assert.ok(found.some(({ uri }) => uri.fsPath === closed.fsPath));
  const codes = vscode.languages.getDiagnostics(closed).map(codeOf);
  assert.ok(codes.includes('SMEM201'), codes.join());
  fs.unlinkSync(closed.fsPath);
});

test('the sample of the walkthrough has a race and a merge', async () => {
  await vscode.commands.executeCommand('smem.openSample');
  const { document } = vscode.window.activeTextEditor;
  await finding(document, 'SMEM201');
  await finding(document, 'SMEM301');
});

test('a change of target changes the finding', async () => {
  const document = await open('smooth.cu');
  const names = (target) => ours(document).some((one) => one.message.includes(target));
  await withSetting('arch', ['sm_90'], () => until('no sm_86', () => ours(document).length > 0 && !names('sm_86')));
  await until('sm_86', () => names('sm_86'));
});

test('the lens can be switched off', async () => {
  const document = await open('smooth.cu');
  const lenses = () => vscode.commands.executeCommand('vscode.executeCodeLensProvider', document.uri);
  const count = async () => (await lenses()).length;
  await until('a lens', async () => (await count()) > 0);
  await withSetting('codeLens.enable', false, () => until('no lens', async () => (await count()) === 0));
});

test('a text that was never saved is served by its language', async () => {
  const document = await vscode.workspace.openTextDocument({ language: 'cuda-cpp', content: source() });
  await finding(document);
});

test('a path with spaces and umlauts, and columns behind characters outside the basic plane', async () => {
  const text = source().replace('__shared__ float peaks', '/* größer 🚀 */ __shared__ float peaks');
  const document = await open('Ordner mit Übung/größe 1.cu', text);
  assert.equal(document.getText((await finding(document)).range), 'peaks');
});

test('line ends of Windows', async () => {
  const document = await open('crlf.cu', source().replaceAll('\n', '\r\n'));
  assert.equal(document.getText((await finding(document)).range), 'peaks');
});

test('a header is served, and a text without device code is left alone', async () => {
  const header = await open('smooth.h', source());
  assert.notEqual(header.languageId, 'cuda-cpp');
  await finding(header);
  const plain = await open('plain.h', 'int twice(int x);\n');
  assert.equal(ours(plain).length, 0);
});

test('restart starts another server, which serves on', async () => {
  const document = await open('smooth.cu');
  await finding(document);
  const [before] = servers();
  await vscode.commands.executeCommand('smem.restart');
  await until('another server in its place', () => servers().length === 1 && servers()[0] !== before);
  await finding(document);
});

test('a killed server is started again', async () => {
  const document = await open('smooth.cu');
  await finding(document);
  const [before] = servers();
  process.kill(Number(before), 'SIGKILL');
  await until('another server', () => servers().some((pid) => pid !== before));
  await vscode.workspace.applyEdit(insertion(document, '// changed\n'));
  await until('the finding, one line below', () => ours(document)[0]?.range.start.line === 10);
  await vscode.commands.executeCommand('undo');
});

test('switched off, there is no server', async () => {
  const document = await open('smooth.cu');
  await withSetting('enable', false, async () => {
    await until('no server', () => servers().length === 0);
    await silence(document);
  });
  await finding(document);
});

test('what a setting names is refused with the reason, and the next choice taken over', async () => {
  const document = await open('smooth.cu');
  const old = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, 'python3.8').fsPath;
  const wrong = { interpreter: [old, '/nowhere/python'], path: ['/nowhere/smem-lsp'] };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      await until('a server', () => servers().length === 1);
      await withSetting(name, value, () => until('no server', () => servers().length === 0));
    }
  }
  await finding(document);
});

test('a server that ends again and again is given up', async () => {
  const document = await open('smooth.cu');
  await vscode.commands.executeCommand('smem.restart');
  const { range } = await finding(document);
  const answers = async () => {
    const hovers = await vscode.commands.executeCommand('vscode.executeHoverProvider', document.uri, range.start);
    return hovers.length > 0;
  };
  const ended = new Set();
  for (let crash = 0; crash < 5; crash += 1) {
    const pid = await until('a server', () => servers().find((each) => !ended.has(each)));
    await until('an answer', answers); // one that ends before it has begun is a start that failed
    ended.add(pid);
    process.kill(Number(pid), 'SIGKILL');
    await until('its end', async () => !(await answers()) || servers().some((each) => !ended.has(each)));
  }
  // The process is gone before the extension knows: started again in between, it would never have counted the fifth.
  const { server } = vscode.extensions.getExtension('smem-lsp.smem-lsp').exports;
  await until('the extension to give up', () => !server.running && servers().length === 0);
  await vscode.commands.executeCommand('smem.restart');
  await finding(document);
});

function insertion(document, text) {
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, new vscode.Position(0, 0), text);
  return edit;
}
