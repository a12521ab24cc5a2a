import * as vscode from 'vscode';
import { isOurs } from './documents';
import type { Server } from './server';
import { SECTION } from './settings';

/** What `smem/stripes` answers; lines are 0-based. */
interface Stripes {
  buffer: string;
  colour: string;
  lines: [number, number][];
  barriers: { line: number; words: string }[];
}

const QUIET = 200; // milliseconds between a move of the cursor and the question

/** Stripes beside the lines where the buffer under the cursor holds a value, in the colours of its map. */
export class Gutter implements vscode.Disposable {
  private readonly types = new Map<string, vscode.TextEditorDecorationType>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly barrier = gutterIcon('<path d="M1 8H15" stroke="#d16969" stroke-width="2.5"/>');
  private timer: NodeJS.Timeout | undefined;
  private moves = 0;
  /** What is drawn; for tests. */
  shown: Stripes | undefined;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.followSoon(textEditor)),
      vscode.workspace.onDidChangeConfiguration((event) => {
        const editor = vscode.window.activeTextEditor;
        if (event.affectsConfiguration(`${SECTION}.gutter`) && editor) this.followSoon(editor);
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.barrier, ...this.types.values()).dispose();
  }

  private followSoon(editor: vscode.TextEditor): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.follow(editor), QUIET);
  }

  private async follow(editor: vscode.TextEditor): Promise<void> {
    const { document, selection } = editor;
    const wanted = vscode.workspace.getConfiguration(SECTION, document.uri).get('gutter.enable', true);
    const move = (this.moves += 1);
    const found = wanted && isOurs(document) ? await this.ask(document, selection.active) : undefined;
    if (move === this.moves) this.draw(editor, found);
  }

  private async ask(document: vscode.TextDocument, position: vscode.Position): Promise<Stripes | undefined> {
    if (!document.getWordRangeAtPosition(position)) return undefined;
    try {
      const found = await this.server.running?.sendRequest<Stripes | null>('smem/stripes', {
        textDocument: { uri: document.uri.toString() },
        position: { line: position.line, character: position.character },
      });
      return found ?? undefined;
    } catch {
      return undefined; // the text has changed: the next move of the cursor asks again
    }
  }

  private draw(editor: vscode.TextEditor, found: Stripes | undefined): void {
    this.shown = found;
    if (found && !this.types.has(found.colour)) {
      this.types.set(found.colour, gutterIcon(`<rect x="6" width="4" height="16" fill="${found.colour}"/>`, found.colour));
    }
    const barriers = new Set(found?.barriers.map(({ line }) => line));
    for (const [colour, type] of this.types) {
      const lines = found && found.colour === colour ? found.lines.flatMap(([first, last]) => numbers(first, last)) : [];
      const options = lines.filter((line) => !barriers.has(line)).map((line) => marked(line, `\`${found?.buffer}\` holds a value here`));
      editor.setDecorations(type, options);
    }
    editor.setDecorations(this.barrier, found?.barriers.map(({ line, words }) => marked(line, words)) ?? []);
  }
}

function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

function marked(line: number, words: string): vscode.DecorationOptions {
  return { range: new vscode.Range(line, 0, line, 0), hoverMessage: words };
}

function gutterIcon(drawing: string, ruler?: string): vscode.TextEditorDecorationType {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" preserveAspectRatio="none">${drawing}</svg>`;
  return vscode.window.createTextEditorDecorationType({
    gutterIconPath: vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`),
    gutterIconSize: 'contain',
    isWholeLine: true,
    ...(ruler && { overviewRulerColor: ruler, overviewRulerLane: vscode.OverviewRulerLane.Left }),
  });
}
