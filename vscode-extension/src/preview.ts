import * as vscode from 'vscode';

const SCHEME = 'smem-preview';

/** A text as a rewrite would leave it, beside the text of now. */
export class Preview implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private text = '';
  private edit: vscode.WorkspaceEdit | undefined;

  async show(source: vscode.Uri, text: string, title: string, edit: vscode.WorkspaceEdit): Promise<void> {
    this.text = text;
    this.edit = edit;
    const after = vscode.Uri.from({ scheme: SCHEME, path: source.path });
    this.changed.fire(after);
    await vscode.commands.executeCommand('vscode.diff', source, after, title, { viewColumn: vscode.ViewColumn.One });
  }

  /** Apply what is shown, and close the comparison. */
  async apply(): Promise<void> {
    const { edit } = this;
    this.edit = undefined;
    if (!edit) return;
    if (!(await vscode.workspace.applyEdit(edit))) {
      void vscode.window.showWarningMessage('The file has changed since; open the comparison again.');
      return;
    }
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    await vscode.window.tabGroups.close(tabs.filter(({ input }) => isPreview(input)));
  }

  provideTextDocumentContent(): string {
    return this.text;
  }

  dispose(): void {
    vscode.Disposable.from(this.registration, this.changed).dispose();
  }
}

function isPreview(input: unknown): boolean {
  return input instanceof vscode.TabInputTextDiff && input.modified.scheme === SCHEME;
}
