import type { Shared } from './share';

/** The part of a client of LSP that a page with one document needs. */

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface Diagnostic {
  range: Range;
  severity: number;
  code: string;
  message: string;
}

export interface TextEdit {
  range: Range;
  newText: string;
}

export interface CodeAction {
  title: string;
  edit?: { documentChanges: { edits: TextEdit[] }[] };
}

/** What `smem/kernels` answers. */
export interface Kernel {
  name: string;
  title: string;
  position: Position;
}

interface Message {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { message: string };
}

const URI = 'file:///kernel.cu';

const CAPABILITIES = {
  textDocument: {
    publishDiagnostics: {},
    codeAction: {
      codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix', 'refactor'] } },
      dataSupport: true,
      resolveSupport: { properties: ['edit'] },
    },
  },
  workspace: { workspaceEdit: { documentChanges: true } },
};

export class Client {
  /** Findings of the newest text. */
  found: (diagnostics: Diagnostic[]) => void = () => undefined;

  private readonly worker = new Worker(new URL('worker.js', document.baseURI), { type: 'module' });
  private readonly waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  private count = 0;
  private version = 1;
  private isOpen = false;

  constructor(failed: (reason: string) => void) {
    this.worker.onmessage = ({ data }: MessageEvent<string>) => this.receive(JSON.parse(data) as Message);
    this.worker.onerror = (event) => failed(event.message || 'The engine could not be loaded.');
  }

  /** What `read` returns may change while the engine is loaded. */
  async start(read: () => Shared): Promise<void> {
    const { target } = read();
    const initializationOptions = { settings: { arch: [target] } };
    await this.ask('initialize', { processId: null, rootUri: null, capabilities: CAPABILITIES, initializationOptions });
    this.tell('initialized', {});
    this.isOpen = true;
    const now = read();
    if (now.target !== target) this.retarget(now.target);
    const textDocument = { uri: URI, languageId: 'cuda-cpp', version: this.version, text: now.text };
    this.tell('textDocument/didOpen', { textDocument });
  }

  change(text: string): void {
    if (!this.isOpen) return;
    this.version += 1;
    this.tell('textDocument/didChange', {
      textDocument: { uri: URI, version: this.version },
      contentChanges: [{ text }],
    });
  }

  retarget(target: string): void {
    if (this.isOpen) this.tell('workspace/didChangeConfiguration', { settings: { smem: { arch: [target] } } });
  }

  kernels(): Promise<Kernel[]> {
    return this.about('smem/kernels', {});
  }

  /** An SVG drawing. */
  async map(position: Position): Promise<string | undefined> {
    const found = await this.about<{ svg?: string } | null>('smem/layout', { position, format: 'svg' });
    return found?.svg;
  }

  fixes(of: Diagnostic): Promise<CodeAction[]> {
    const context = { diagnostics: [of], only: ['quickfix'] };
    return this.about('textDocument/codeAction', { range: of.range, context });
  }

  async edits(of: CodeAction): Promise<TextEdit[]> {
    const resolved = of.edit ? of : ((await this.ask('codeAction/resolve', of)) as CodeAction);
    return resolved.edit?.documentChanges.flatMap((change) => change.edits) ?? [];
  }

  private about<T>(method: string, params: object): Promise<T> {
    return this.ask(method, { textDocument: { uri: URI }, ...params }) as Promise<T>;
  }

  private ask(method: string, params: object): Promise<unknown> {
    const id = (this.count += 1);
    this.post({ id, method, params });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  private tell(method: string, params: object): void {
    this.post({ method, params });
  }

  private post(message: Message): void {
    this.worker.postMessage(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  private receive({ id, method, params, result, error }: Message): void {
    if (method === 'textDocument/publishDiagnostics') {
      const { version, diagnostics } = params as { version?: number; diagnostics: Diagnostic[] };
      if (version === this.version) this.found(diagnostics);
    } else if (method === undefined && id !== undefined) {
      const asked = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) asked?.reject(new Error(error.message));
      else asked?.resolve(result);
    }
  }
}
