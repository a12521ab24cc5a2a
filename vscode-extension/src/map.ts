import * as path from 'node:path';
import * as vscode from 'vscode';
import { LSPErrorCodes, ResponseError } from 'vscode-languageclient/node';
import type { Server } from './server';

const VIEW = 'smem.map';
const TRIES = 5;
const NOTHING = 'No kernel with shared memory here.';

/** A place in a file, as the protocol writes it: the code lens sends one, and so do other extensions. */
export interface Place {
  uri: string;
  position: { line: number; character: number };
}

/** What the page says when a rectangle, a barrier or a line is clicked: 1-based lines. */
interface Chosen {
  line: number;
  last: number;
}

interface Shown {
  readonly panel: vscode.WebviewPanel;
  readonly source: vscode.Uri;
  position: vscode.Position; // of the kernel; it moves with the text above it
}

/** The memory maps of kernels, each a page beside its source. */
export class MemoryMaps implements vscode.Disposable {
  private readonly shown = new Set<Shown>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument((event) => this.move(event)),
      vscode.workspace.onDidSaveTextDocument((saved) => this.refresh(saved.uri)),
    ];
  }

  async open(place: Place): Promise<void> {
    if (!this.server.running) {
      void vscode.window.showWarningMessage('The smem-lsp server is not running.');
      return;
    }
    const source = vscode.Uri.parse(place.uri);
    const position = new vscode.Position(place.position.line, place.position.character);
    const html = await this.request(source, position);
    if (html === undefined) {
      void vscode.window.showInformationMessage(NOTHING);
      return;
    }
    const known = [...this.shown].find((one) => isSame(one.source, source) && one.position.line === position.line);
    const { panel } = known ?? this.show(source, position);
    panel.webview.html = html;
    panel.reveal(undefined, true);
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => subscription.dispose());
    for (const { panel } of [...this.shown]) panel.dispose();
  }

  private show(source: vscode.Uri, position: vscode.Position): Shown {
    const title = `${path.posix.basename(source.path)}:${position.line + 1} memory map`;
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    // The page runs one script of its own, named by its policy, and loads nothing.
    const options = { enableScripts: true, localResourceRoots: [], enableFindWidget: true };
    const panel = vscode.window.createWebviewPanel(VIEW, title, beside, options);
    const shown = { panel, source, position };
    this.shown.add(shown);
    panel.onDidDispose(() => this.shown.delete(shown));
    panel.webview.onDidReceiveMessage((message: unknown) => {
      if (isChosen(message)) void goTo(source, message);
    });
    return shown;
  }

  /** The page for the text of now: asked again where the text changed while the server was at it. */
  private async request(source: vscode.Uri, position: vscode.Position): Promise<string | undefined> {
    for (let tries = 1; ; tries += 1) {
      try {
        const answer = await this.server.running?.sendRequest<{ html?: string } | null>('smem/layout', {
          textDocument: { uri: source.toString() },
          position: { line: position.line, character: position.character },
          format: 'html',
        });
        return answer?.html;
      } catch (error) {
        const changed = error instanceof ResponseError && error.code === LSPErrorCodes.ContentModified;
        if (!changed || tries === TRIES) throw error;
      }
    }
  }

  private move(event: vscode.TextDocumentChangeEvent): void {
    for (const shown of this.shown) {
      if (!isSame(shown.source, event.document.uri)) continue;
      for (const { range, text } of event.contentChanges) {
        if (range.end.isAfter(shown.position)) continue;
        const lines = text.split('\n').length - 1 - (range.end.line - range.start.line);
        shown.position = shown.position.translate(Math.max(lines, -shown.position.line));
      }
    }
  }

  private async refresh(saved: vscode.Uri): Promise<void> {
    for (const shown of this.shown) {
      if (!isSame(shown.source, saved)) continue;
      const html = await this.request(shown.source, shown.position);
      if (this.shown.has(shown)) shown.panel.webview.html = html ?? `<p>${NOTHING}</p>`;
    }
  }
}

function isSame(one: vscode.Uri, other: vscode.Uri): boolean {
  return one.toString() === other.toString();
}

function isChosen(message: unknown): message is Chosen {
  const { line, last } = (message ?? {}) as Partial<Chosen>;
  return Number.isInteger(line) && Number.isInteger(last);
}

/** Put the cursor on the first of these lines, in the editor that shows the file, or beside the map. */
async function goTo(source: vscode.Uri, { line, last }: Chosen): Promise<void> {
  const document = await vscode.workspace.openTextDocument(source);
  const start = new vscode.Position(Math.min(Math.max(line - 1, 0), document.lineCount - 1), 0);
  const visible = vscode.window.visibleTextEditors.find((editor) => isSame(editor.document.uri, source));
  const editor = await vscode.window.showTextDocument(document, {
    viewColumn: visible?.viewColumn ?? vscode.ViewColumn.One,
    selection: new vscode.Range(start, start),
  });
  const end = new vscode.Position(Math.max(Math.min(last - 1, document.lineCount - 1), start.line), 0);
  editor.revealRange(new vscode.Range(start, end), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
