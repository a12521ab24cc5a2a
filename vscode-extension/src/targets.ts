import * as vscode from 'vscode';
import { DOCUMENTS, isOurs } from './documents';
import type { Server } from './server';
import { SECTION } from './settings';

/** What `smem/targets` answers. */
interface Targets {
  targets: string[];
  ruling: string[];
  worst: string;
}

interface Choice extends vscode.QuickPickItem {
  value: string;
}

const QUIET = 250; // milliseconds between a change and the question

/** The status item `sm_90 ▾`: the target that lens, hover, menus, map and severities speak of. */
export class TargetItem implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem('smem.target', DOCUMENTS as vscode.DocumentSelector);
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly server: Server) {
    this.item.name = 'smem-lsp target';
    this.item.text = 'target';
    this.item.command = { command: 'smem.chooseTarget', title: 'Change' };
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor(() => this.refreshSoon()),
      server.onDidAnswer(() => this.refreshSoon()),
    ];
  }

  /** Let the user choose; the choice is a setting. */
  async choose(): Promise<void> {
    const found = await this.ask();
    if (!found) {
      void vscode.window.showInformationMessage('Open a CUDA file: its settings say which targets there are.');
      return;
    }
    const now = vscode.workspace.getConfiguration(SECTION).get('target', 'first');
    const choices: Choice[] = [
      ...found.targets.map((name, at) => ({
        label: name,
        description: at === 0 ? 'first of the settings' : '',
        value: at === 0 ? 'first' : name,
      })),
      { label: 'The worst', description: `${found.worst}: the least shared memory per SM`, value: 'worst' },
      { label: 'All', description: found.targets.join(', '), value: 'all' },
    ];
    for (const choice of choices) {
      if (choice.value === now) choice.description = `${choice.description ?? ''} (current)`.trim();
    }
    const title = 'Target that numbers and severities are for';
    const picked = await vscode.window.showQuickPick(choices, { title, matchOnDescription: true });
    if (picked) await setTarget(picked.value);
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(this.item, ...this.subscriptions).dispose();
  }

  private refreshSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), QUIET);
  }

  private async refresh(): Promise<void> {
    const found = await this.ask();
    if (!found) return;
    const [only] = found.ruling;
    this.item.text = `${found.ruling.length === 1 && only ? only : 'all targets'} ▾`;
    this.item.detail = `of ${found.targets.join(', ')}`;
  }

  private async ask(): Promise<Targets | undefined> {
    const document = vscode.window.activeTextEditor?.document;
    if (!document || !isOurs(document)) return undefined;
    const textDocument = { uri: document.uri.toString() };
    const found = await this.server.running?.sendRequest<Targets | null>('smem/targets', { textDocument });
    return found ?? undefined;
  }
}

async function setTarget(value: string): Promise<void> {
  const where = vscode.workspace.workspaceFolders
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global;
  await vscode.workspace.getConfiguration(SECTION).update('target', value === 'first' ? undefined : value, where);
}
