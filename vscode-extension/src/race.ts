import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Place } from './map';
import type { Server } from './server';

/** What `smem/race` answers. Lines are 0-based; `thread` 2 means both. */
interface Replay {
  title: string;
  threads: [string, string];
  block: string;
  steps: { thread: number; uri: string; line: number; code: string; words: string }[];
  end: string;
}

const NO_RACE = 'No race is told at the cursor. Put it on a finding that is called a data race.';

/** A race, step by step, beside its source: a column for each of the two threads. */
export class RaceReplay implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private replay: Replay | undefined;
  private readonly marked = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.stackFrameHighlightBackground'),
    overviewRulerColor: new vscode.ThemeColor('editor.stackFrameHighlightBackground'),
  });

  constructor(private readonly server: Server) {}

  async show(place: Place): Promise<void> {
    const params = { textDocument: { uri: place.uri }, position: place.position };
    const found = await this.server.running?.sendRequest<Replay | null>('smem/race', params);
    if (!found) {
      void vscode.window.showInformationMessage(NO_RACE);
      return;
    }
    this.replay = found;
    this.panel ??= this.open();
    this.panel.title = `Race in ${found.title.split(':')[0] ?? 'a kernel'}`;
    this.panel.webview.html = page(found);
    this.panel.reveal(undefined, true);
    await this.select(0);
  }

  dispose(): void {
    this.panel?.dispose();
    this.marked.dispose();
  }

  private open(): vscode.WebviewPanel {
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel('smem.race', 'Race', beside, {
      enableScripts: true,
      localResourceRoots: [],
    });
    panel.webview.onDidReceiveMessage((message: unknown) => {
      const { step } = (message ?? {}) as { step?: unknown };
      if (typeof step === 'number') void this.select(step);
    });
    panel.onDidDispose(() => {
      this.panel = undefined;
      for (const editor of vscode.window.visibleTextEditors) editor.setDecorations(this.marked, []);
    });
    return panel;
  }

  /** Put the cursor on the line of a step, in the editor that shows its file. */
  private async select(number: number): Promise<void> {
    const step = this.replay?.steps[number];
    if (!step) return;
    const uri = vscode.Uri.parse(step.uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const line = document.lineAt(Math.min(step.line, document.lineCount - 1));
    const start = new vscode.Position(line.lineNumber, line.firstNonWhitespaceCharacterIndex);
    const visible = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
    const editor = await vscode.window.showTextDocument(document, {
      viewColumn: visible?.viewColumn ?? vscode.ViewColumn.One,
      preserveFocus: true,
      selection: new vscode.Range(start, start),
    });
    for (const other of vscode.window.visibleTextEditors) other.setDecorations(this.marked, []);
    editor.setDecorations(this.marked, [line.range]);
  }
}

function page(replay: Replay): string {
  const nonce = randomBytes(16).toString('hex');
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  const rows = replay.steps.map(({ thread, line, code, words, uri }, at) => {
    const file = escaped(decodeURIComponent(uri.slice(uri.lastIndexOf('/') + 1)));
    const access = thread < 2 && !words.startsWith('iteration') ? ' access' : '';
    return (
      `<button type="button" class="step t${thread}${access}" data-step="${at}">` +
      `<b>${escaped(words)}</b><code>${escaped(code)}</code><i>${file}:${line + 1}</i></button>`
    );
  });
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<style nonce="${nonce}">
body{font:var(--vscode-font-size) var(--vscode-font-family);color:var(--vscode-foreground);padding:12px}
h1{font-size:1.2em;margin:0}p{margin:2px 0 12px;color:var(--vscode-descriptionForeground)}
.steps{display:grid;grid-template-columns:1fr 1fr;gap:8px}
h2{font-size:1em;margin:0;border-bottom:1px solid var(--vscode-panel-border);padding-bottom:4px}
.step{font:inherit;color:inherit;text-align:left;min-width:0;padding:6px 10px;cursor:pointer;background:var(--vscode-editorWidget-background);border:1px solid var(--vscode-widget-border,var(--vscode-panel-border));border-radius:4px}
.t0{grid-column:1}.t1{grid-column:2}.t2{grid-column:1/3;text-align:center;border-style:dashed}
.access{border-color:var(--vscode-editorError-foreground)}
.step[aria-current]{outline:2px solid var(--vscode-focusBorder);outline-offset:1px}
.step b,.step code,.step i{display:block;overflow:hidden;text-overflow:ellipsis}
.step code{font-family:var(--vscode-editor-font-family);white-space:pre}
.step i{font-style:normal;font-size:.85em;color:var(--vscode-descriptionForeground)}
.end{grid-column:1/3;text-align:center;color:var(--vscode-editorError-foreground);margin:4px 0}
nav{margin-top:12px;display:flex;gap:8px}
nav button{font:inherit;padding:4px 12px;color:var(--vscode-button-secondaryForeground);background:var(--vscode-button-secondaryBackground);border:1px solid var(--vscode-contrastBorder,transparent);border-radius:3px;cursor:pointer}
</style></head><body>
<h1>${escaped(replay.title)}</h1><p>${escaped(replay.block)}</p>
<div class="steps"><h2>${escaped(replay.threads[0])}</h2><h2>${escaped(replay.threads[1])}</h2>
${rows.join('\n')}
<p class="end">${escaped(replay.end)}</p></div>
<nav><button type="button" data-go="-1">Previous step</button><button type="button" data-go="1">Next step</button></nav>
<script nonce="${nonce}">
const host = acquireVsCodeApi(), steps = [...document.querySelectorAll('.step')];
let at = 0;
function go(to, tell = true) {
  at = Math.max(0, Math.min(to, steps.length - 1));
  steps.forEach((step, number) => number === at ? step.setAttribute('aria-current', 'step') : step.removeAttribute('aria-current'));
  steps[at].scrollIntoView({ block: 'nearest' });
  if (tell) host.postMessage({ step: at });
}
document.addEventListener('click', (event) => {
  const step = event.target.closest('.step'), move = event.target.closest('[data-go]');
  if (step) go(steps.indexOf(step));
  if (move) go(at + Number(move.dataset.go));
});
document.addEventListener('keydown', ({ key }) => {
  if (key === 'ArrowDown' || key === 'ArrowRight') go(at + 1);
  if (key === 'ArrowUp' || key === 'ArrowLeft') go(at - 1);
});
go(0, false);
</script></body></html>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
