import * as vscode from 'vscode';
import { DOCUMENTS } from './documents';
import type { Launch } from './launch';

/** The entry behind the braces in the status bar, while a file of ours is open. */
export class Status implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem(
    'smem.status',
    DOCUMENTS as vscode.DocumentSelector,
  );

  constructor() {
    this.item.name = 'smem-lsp';
  }

  starting(): void {
    this.show('smem-lsp', 'starting', vscode.LanguageStatusSeverity.Information, true);
  }

  running(version: string | undefined, launch: Launch): void {
    const name = `smem-lsp ${version ?? ''}`.trim();
    const text = launch.inside ? `${name} (WebAssembly)` : name;
    this.show(text, launch.description, vscode.LanguageStatusSeverity.Information);
    if (launch.inside) {
      this.item.command = { command: 'smem.openSetting', title: 'Choose a Python', arguments: ['smem.interpreter'] };
    }
  }

  off(): void {
    this.show('smem-lsp', 'switched off by smem.enable', vscode.LanguageStatusSeverity.Information);
  }

  stopped(): void {
    this.show('smem-lsp', 'stopped', vscode.LanguageStatusSeverity.Warning);
  }

  failed(reason: string): void {
    this.show('smem-lsp', reason, vscode.LanguageStatusSeverity.Error);
  }

  dispose(): void {
    this.item.dispose();
  }

  private show(text: string, detail: string, severity: vscode.LanguageStatusSeverity, busy = false): void {
    this.item.text = text;
    this.item.detail = detail;
    this.item.severity = severity;
    this.item.busy = busy;
    this.item.command = { command: 'smem.showLogs', title: 'Show Logs' };
  }
}
