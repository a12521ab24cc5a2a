import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Server } from './server';

const SCHEME = 'smem-map';

/** Columns: what half a window shows. */
const WIDTH = 64;

/** A place in a file, as the protocol writes it: the code lens sends one, and so do other extensions. */
export interface Place {
  uri: string;
  position: { line: number; character: number };
}

/** The memory map of a kernel, as a read-only text beside the source. */
export class MemoryMaps implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];

  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidSaveTextDocument((saved) => this.refresh(saved.uri)),
    ];
  }

  async open(place: Place): Promise<void> {
    if (!this.server.running) {
      void vscode.window.showWarningMessage('The smem-lsp server is not running.');
      return;
    }
    const uri = mapUri(place);
    if ((await this.request(place)) === undefined) {
      void vscode.window.showInformationMessage('No kernel with shared memory here.');
      return;
    }
    this.changed.fire(uri); // it may be open already, with an older text
    const document = await vscode.workspace.openTextDocument(uri);
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true };
    await vscode.window.showTextDocument(document, beside);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    return (await this.request(placeOf(uri))) ?? 'No kernel with shared memory here.\n';
  }

  dispose(): void {
    this.subscriptions.forEach((subscription) => subscription.dispose());
  }

  private async request({ uri, position }: Place): Promise<string | undefined> {
    const answer = await this.server.running?.sendRequest<{ text?: string } | null>('smem/layout', {
      textDocument: { uri },
      position,
      format: 'text',
      width: WIDTH,
    });
    if (!answer) return undefined;
    return answer.text ?? `${JSON.stringify(answer, null, 2)}\n`;
  }

  private refresh(source: vscode.Uri): void {
    for (const document of vscode.workspace.textDocuments) {
      if (document.uri.scheme !== SCHEME) continue;
      if (vscode.Uri.parse(placeOf(document.uri).uri).toString() === source.toString()) this.changed.fire(document.uri);
    }
  }
}

function mapUri(place: Place): vscode.Uri {
  const name = path.posix.basename(vscode.Uri.parse(place.uri).path);
  const title = `${name}:${place.position.line + 1} memory map`;
  return vscode.Uri.from({ scheme: SCHEME, path: `/${title}`, query: JSON.stringify(place) });
}

function placeOf(uri: vscode.Uri): Place {
  return JSON.parse(uri.query) as Place;
}
