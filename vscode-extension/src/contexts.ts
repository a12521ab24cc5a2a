import * as path from 'node:path';
import * as vscode from 'vscode';
import { SECTION } from './settings';

/** What the lens over a kernel in a header hands over. */
export interface ContextChoice {
  uri: string;
  contexts: { path: string; macros: string[] }[];
  chosen: string | null;
}

interface Item extends vscode.QuickPickItem {
  main: string | undefined;
}

/** Let the user choose the file through which a header is read. The choice is a setting of the workspace. */
export async function chooseContext(choice: ContextChoice): Promise<void> {
  const header = vscode.Uri.parse(choice.uri);
  const folder = vscode.workspace.getWorkspaceFolder(header);
  const all: Item = { label: 'All files that include it', main: undefined };
  if (choice.chosen === null) all.description = 'current';
  const items: Item[] = choice.contexts.map((context) => ({
    label: shown(context.path, folder),
    description: context.macros.join(', ') + (context.path === choice.chosen ? ' (current)' : ''),
    main: context.path,
  }));
  const title = `Read ${path.basename(header.fsPath)} through`;
  const picked = await vscode.window.showQuickPick([all, ...items], { title, matchOnDescription: true });
  if (picked) await remember(shown(header.fsPath, folder), picked.main && shown(picked.main, folder));
}

async function remember(header: string, main: string | undefined): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const before = settings.inspect<Record<string, string>>('contexts')?.workspaceValue ?? {};
  const others = Object.entries(before).filter(([name]) => name !== header);
  const after = Object.fromEntries(main ? [...others, [header, main]] : others);
  const target = vscode.workspace.workspaceFolders
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global;
  await settings.update('contexts', Object.keys(after).length > 0 ? after : undefined, target);
}

/** A path as settings name it: relative to the workspace folder, with slashes. */
function shown(file: string, folder: vscode.WorkspaceFolder | undefined): string {
  if (!folder || !path.isAbsolute(file)) return file;
  const relative = path.relative(folder.uri.fsPath, file);
  return relative.startsWith('..') || path.isAbsolute(relative) ? file : relative.split(path.sep).join('/');
}
