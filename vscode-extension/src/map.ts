import * as path from 'node:path';
import * as vscode from 'vscode';
import { LSPErrorCodes, ResponseError, type WorkspaceEdit } from 'vscode-languageclient/node';
import { isOurs } from './documents';
import { Preview } from './preview';
import type { Server } from './server';
import { SECTION } from './settings';

const VIEW = 'smem.map';
const TRIES = 5;
const NOTHING = 'This file has no kernel with shared memory, and no host function with streams.';
const PATIENCE = 10_000; // milliseconds for a page to paint a drawing
const QUIET = 250; // milliseconds between a move of the cursor and the map that follows it

/** A place in a file, as the protocol writes it: the code lens sends one, and so do other extensions. */
export interface Place {
  uri: string;
  position: { line: number; character: number };
  /** Of a template: `k<256>`. */
  instance?: string;
}

/** What `smem/kernels` answers: kernels, then host functions with streams. Lines are 0-based. */
interface KernelEntry {
  name: string;
  title: string;
  position: { line: number; character: number };
  first: number;
  last: number;
}

/** What `smem/applyLayout` answers. */
interface Rewrite {
  refused?: string;
  title: string;
  detail: string;
  text: string;
  edit: WorkspaceEdit;
}

/** What the page says: its script runs; a rectangle, a barrier or a line is clicked (1-based lines); "Apply"; a drawing
 *  that it was sent, as the address of a PNG, '' if it cannot. */
interface Message {
  ready?: boolean;
  picture?: string;
  line?: number;
  last?: number;
  apply?: number;
}

interface Shown {
  readonly panel: vscode.WebviewPanel;
  readonly source: vscode.Uri;
  position: vscode.Position; // of the kernel; it moves with the text above it
  instance: string | undefined;
}

/** The memory maps of kernels, each a page beside its source. The one that was opened last follows the cursor. */
export class MemoryMaps implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private readonly shown = new Set<Shown>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly preview = new Preview();
  private last: Shown | undefined;
  private timer: NodeJS.Timeout | undefined;
  private renewing: NodeJS.Timeout | undefined;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.preview,
      vscode.window.registerWebviewPanelSerializer(VIEW, this),
      vscode.workspace.onDidChangeTextDocument((event) => this.move(event)),
      vscode.workspace.onDidSaveTextDocument(({ uri }) => this.refresh(({ source }) => isSame(source, uri))),
      server.onDidConfigure(() => void this.refresh()),
      server.onDidAnswer(() => this.renewSoon()),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.followSoon(textEditor)),
    ];
  }

  async open(place: Place): Promise<void> {
    if (!this.server.running) {
      void vscode.window.showWarningMessage('The smem-lsp server is not running.');
      return;
    }
    const source = vscode.Uri.parse(place.uri);
    const position = new vscode.Position(place.position.line, place.position.character);
    const html = await this.request(source, position, place.instance);
    if (html === undefined) {
      const kernel = await this.choose(source);
      if (kernel) await this.open({ uri: place.uri, position: kernel.position });
      return;
    }
    const known = [...this.shown].find((one) => isSame(one.source, source) && one.position.line === position.line);
    const shown = known ?? this.show(this.create(), source, position);
    shown.instance = place.instance;
    shown.panel.webview.html = html;
    shown.panel.reveal(undefined, true);
    this.last = shown;
  }

  /** Save the map that is in front as a drawing. */
  async export(): Promise<void> {
    const shown = [...this.shown].find(({ panel }) => panel.active) ?? this.last;
    if (!shown) return;
    const drawing = await this.ask(shown.source, shown.position, shown.instance, 'svg');
    if (drawing === undefined) return;
    const name = `${path.posix.basename(shown.source.path)}-${shown.position.line + 1}.svg`;
    const defaultUri = vscode.Uri.joinPath(shown.source, '..', name);
    const filters = { 'SVG drawing': ['svg'], 'PNG picture': ['png'] };
    const file = await vscode.window.showSaveDialog({ defaultUri, filters });
    if (!file) return;
    const content = file.path.toLowerCase().endsWith('.png') ? await this.paint(shown, drawing) : Buffer.from(drawing);
    if (content) await vscode.workspace.fs.writeFile(file, content);
    else void vscode.window.showWarningMessage('The memory map could not be painted; save it as .svg instead.');
  }

  /** A drawing as a PNG, which the page of the map paints. */
  private async paint(shown: Shown, drawing: string): Promise<Buffer | undefined> {
    shown.panel.reveal(undefined, true); // a hidden page does not run
    const painted = new Promise<string>((resolve) => {
      const listening = shown.panel.webview.onDidReceiveMessage(({ picture, ready }: Message) => {
        if (ready) void shown.panel.webview.postMessage({ drawing }); // it was hidden
        if (picture !== undefined) done(picture);
      });
      const patience = setTimeout(() => done(''), PATIENCE);
      function done(picture: string): void {
        clearTimeout(patience);
        listening.dispose();
        resolve(picture);
      }
    });
    void shown.panel.webview.postMessage({ drawing });
    const picture = await painted;
    return picture ? Buffer.from(picture.slice(picture.indexOf(',') + 1), 'base64') : undefined;
  }

  /** Compare the text with what a layout of the map in front makes of it; the title bar of the comparison applies it. */
  async apply(barriers: number, shown = this.last): Promise<void> {
    const client = this.server.running;
    if (!client || !shown) return;
    const { source, position } = shown;
    const found = await client.sendRequest<Rewrite | null>('smem/applyLayout', {
      textDocument: { uri: source.toString() },
      position: { line: position.line, character: position.character },
      barriers,
    });
    if (!found || found.refused !== undefined) {
      void vscode.window.showWarningMessage(found?.refused ?? NOTHING);
      return;
    }
    const edit = await client.protocol2CodeConverter.asWorkspaceEdit(found.edit);
    await this.preview.show(source, found.text, found.title, edit);
  }

  applyPreview(): Promise<void> {
    return this.preview.apply();
  }

  /** A window was loaded again: the page kept which kernel it is for. */
  async deserializeWebviewPanel(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const { place } = (state ?? {}) as { place?: Place };
    if (!place) {
      panel.dispose();
      return;
    }
    await this.server.started;
    const source = vscode.Uri.parse(place.uri);
    await vscode.workspace.openTextDocument(source); // the server answers for open files
    const position = new vscode.Position(place.position.line, place.position.character);
    const shown = this.show(panel, source, position);
    shown.instance = place.instance;
    panel.webview.html = (await this.request(source, position, place.instance)) ?? `<p>${NOTHING}</p>`;
    this.last ??= shown;
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.renewing);
    this.subscriptions.forEach((subscription) => subscription.dispose());
    for (const { panel } of [...this.shown]) panel.dispose();
  }

  private create(): vscode.WebviewPanel {
    const beside = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    return vscode.window.createWebviewPanel(VIEW, 'memory map', beside, { enableFindWidget: true });
  }

  private show(panel: vscode.WebviewPanel, source: vscode.Uri, position: vscode.Position): Shown {
    // The page runs one script of its own, named by its policy, and loads nothing.
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    const shown: Shown = { panel, source, position, instance: undefined };
    panel.title = title(shown);
    this.shown.add(shown);
    panel.onDidDispose(() => {
      this.shown.delete(shown);
      if (this.last === shown) this.last = undefined;
    });
    panel.webview.onDidReceiveMessage((message: Message) => this.said(shown, message));
    return shown;
  }

  private said(shown: Shown, message: Message): void {
    const { line, last, apply } = message;
    if (message.ready) {
      const { source, position, instance } = shown;
      const at = { line: position.line, character: position.character };
      void shown.panel.webview.postMessage({ place: { uri: source.toString(), position: at, instance } });
    } else if (typeof apply === 'number') {
      void this.apply(apply, shown);
    } else if (typeof line === 'number' && typeof last === 'number') {
      void goTo(shown.source, line, last);
    }
  }

  /** The page for the text of now. */
  private request(source: vscode.Uri, position: vscode.Position, instance?: string): Promise<string | undefined> {
    return this.ask(source, position, instance, 'html');
  }

  /** Asked again where the text changed while the server was at it. */
  private async ask(
    source: vscode.Uri,
    position: vscode.Position,
    instance: string | undefined,
    format: 'html' | 'svg',
  ): Promise<string | undefined> {
    for (let tries = 1; ; tries += 1) {
      try {
        const answer = await this.server.running?.sendRequest<Record<string, string> | null>('smem/layout', {
          textDocument: { uri: source.toString() },
          position: { line: position.line, character: position.character },
          format,
          ...(instance !== undefined && { instance }),
        });
        return answer?.[format];
      } catch (error) {
        const changed = error instanceof ResponseError && error.code === LSPErrorCodes.ContentModified;
        if (!changed || tries === TRIES) throw error;
      }
    }
  }

  private async kernels(source: vscode.Uri): Promise<KernelEntry[]> {
    const params = { textDocument: { uri: source.toString() } };
    return (await this.server.running?.sendRequest<KernelEntry[]>('smem/kernels', params)) ?? [];
  }

  /** The only kernel of a file, else the one that the user chooses. */
  private async choose(source: vscode.Uri): Promise<KernelEntry | undefined> {
    const kernels = await this.kernels(source);
    if (kernels.length === 0) void vscode.window.showInformationMessage(NOTHING);
    if (kernels.length < 2) return kernels[0];
    const items = kernels.map((kernel) => ({ label: kernel.name, description: kernel.title, kernel }));
    const picked = await vscode.window.showQuickPick(items, { title: 'Memory map of', matchOnDescription: true });
    return picked?.kernel;
  }

  private followSoon(editor: vscode.TextEditor): void {
    const { last } = this;
    if (!last || !isOurs(editor.document) || !isSame(last.source, editor.document.uri)) return;
    if (!vscode.workspace.getConfiguration(SECTION).get('map.followCursor', true)) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.follow(last, editor.selection.active.line), QUIET);
  }

  /** Show the kernel with this line, and mark the line. */
  private async follow(shown: Shown, line: number): Promise<void> {
    const kernels = await this.kernels(shown.source);
    const kernel = kernels.find(({ first, last }) => first <= line && line <= last);
    if (!kernel || !this.shown.has(shown)) return;
    if (kernel.position.line !== shown.position.line) {
      const position = new vscode.Position(kernel.position.line, kernel.position.character);
      const html = await this.request(shown.source, position);
      if (html === undefined || !this.shown.has(shown)) return;
      shown.position = position;
      shown.instance = undefined;
      shown.panel.title = title(shown);
      shown.panel.webview.html = html;
    }
    void shown.panel.webview.postMessage({ cursor: line + 1 });
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

  /** The server knows more of a saved text than it did: a compiler has counted registers, another file has changed. */
  private renewSoon(): void {
    clearTimeout(this.renewing);
    this.renewing = setTimeout(() => {
      const typed = vscode.workspace.textDocuments.filter((document) => document.isDirty);
      void this.refresh(({ source }) => !typed.some(({ uri }) => isSame(uri, source)));
    }, QUIET);
  }

  private async refresh(wanted: (shown: Shown) => boolean = () => true): Promise<void> {
    for (const shown of this.shown) {
      if (!wanted(shown)) continue;
      const html = (await this.request(shown.source, shown.position, shown.instance)) ?? `<p>${NOTHING}</p>`;
      if (this.shown.has(shown) && shown.panel.webview.html !== html) shown.panel.webview.html = html;
    }
  }
}

function title({ source, position }: Shown): string {
  return `${path.posix.basename(source.path)}:${position.line + 1} memory map`;
}

function isSame(one: vscode.Uri, other: vscode.Uri): boolean {
  return one.toString() === other.toString();
}

/** Put the cursor on the first of these lines, in the editor that shows the file, or beside the map. */
async function goTo(source: vscode.Uri, line: number, last: number): Promise<void> {
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
