import * as vscode from 'vscode';
import type { Diagnostic } from 'vscode-languageclient/node';
import { withRuleLinks } from './ruleLinks';
import type { Server } from './server';

interface Found extends vscode.QuickPickItem {
  uri: vscode.Uri;
  range: vscode.Range;
  rank: number;
}

/** Races first, then barriers that nobody needs, then bytes. */
function rank({ code, severity }: vscode.Diagnostic): number {
  const name = String(typeof code === 'object' ? code.value : code);
  const kind = name === 'SMEM204' ? 1 : name.startsWith('SMEM2') ? 0 : 2;
  return 10 * kind + severity;
}

/** Every CUDA file of the workspace in Problems, whether it is open or not. */
export class Scan implements vscode.Disposable {
  private readonly closed = vscode.languages.createDiagnosticCollection('smem-lsp scan');
  private readonly subscription = vscode.workspace.onDidOpenTextDocument(({ uri }) => this.closed.delete(uri));

  constructor(private readonly server: Server) {}

  dispose(): void {
    this.closed.dispose();
    this.subscription.dispose();
  }

  /** Returns what was found, the gravest first. */
  async run(): Promise<Found[]> {
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: 'Scanning the workspace for shared memory',
      cancellable: true,
    };
    const found = await vscode.window.withProgress(options, (progress, token) => this.check(progress, token));
    found.sort((a, b) => a.rank - b.rank);
    await vscode.commands.executeCommand('workbench.actions.view.problems');
    return found;
  }

  /** Let the user go through them. */
  async choose(): Promise<void> {
    const found = await this.run();
    const title = found.length > 0 ? `${found.length} findings, races first` : 'Nothing found in this workspace';
    const picked = await vscode.window.showQuickPick(found, { title, matchOnDescription: true, matchOnDetail: true });
    if (picked) await vscode.window.showTextDocument(picked.uri, { selection: picked.range });
  }

  private async check(
    progress: vscode.Progress<{ message: string; increment: number }>,
    token: vscode.CancellationToken,
  ): Promise<Found[]> {
    const client = this.server.running;
    if (!client) throw new Error('The smem-lsp server is not running.');
    this.closed.clear();
    const files = await client.sendRequest<string[]>('smem/files', {}, token);
    const found: Found[] = [];
    for (const [at, name] of files.entries()) {
      if (token.isCancellationRequested) break;
      progress.report({ message: `${at + 1} of ${files.length}`, increment: 100 / files.length });
      const uri = vscode.Uri.parse(name);
      const answer = await this.ask(name, token);
      const diagnostics = withRuleLinks(await client.protocol2CodeConverter.asDiagnostics(answer));
      if (!isOpen(uri) && diagnostics.length > 0) this.closed.set(uri, diagnostics);
      for (const each of diagnostics) {
        const description = `${vscode.workspace.asRelativePath(uri)}:${each.range.start.line + 1}`;
        const code = typeof each.code === 'object' ? each.code.value : each.code;
        found.push({ label: `${code}`, description, detail: each.message, uri, range: each.range, rank: rank(each) });
      }
    }
    return found;
  }

  private async ask(uri: string, token: vscode.CancellationToken): Promise<Diagnostic[]> {
    try {
      const params = { textDocument: { uri } };
      return (await this.server.running?.sendRequest<Diagnostic[]>('smem/check', params, token)) ?? [];
    } catch (error) {
      if (token.isCancellationRequested) return [];
      throw error;
    }
  }
}

function isOpen(uri: vscode.Uri): boolean {
  return vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString());
}
