import * as vscode from 'vscode';
import { SECTION } from './settings';

type Level = 'globalValue' | 'workspaceValue' | 'workspaceFolderValue';

/**
 * Moves `smem.severity.SMEM301` and its like, one setting for each rule in the first versions, into the table
 * `smem.severity`, wherever they stand. Until then, and where a file cannot be written, they count all the same.
 */
export async function migrateSettings(log: vscode.LogOutputChannel): Promise<void> {
  try {
    await migrate('globalValue', vscode.ConfigurationTarget.Global);
    await migrate('workspaceValue', vscode.ConfigurationTarget.Workspace);
    // A window with one folder has no other level for it.
    const folders = vscode.workspace.workspaceFile ? (vscode.workspace.workspaceFolders ?? []) : [];
    for (const { uri } of folders) {
      await migrate('workspaceFolderValue', vscode.ConfigurationTarget.WorkspaceFolder, uri);
    }
  } catch (error) {
    log.warn(`Settings of an older version were not moved: ${String(error)}`);
  }
}

async function migrate(level: Level, target: vscode.ConfigurationTarget, scope?: vscode.Uri): Promise<void> {
  const settings = (): vscode.WorkspaceConfiguration => vscode.workspace.getConfiguration(SECTION, scope ?? null);
  const table = (): Record<string, string> => ({ ...settings().inspect<Record<string, string>>('severity')?.[level] });
  // Both forms read alike. What changes when the old keys are taken out came from them.
  const before = table();
  for (const code of Object.keys(before)) await settings().update(`severity.${code}`, undefined, target);
  const after = table();
  if (Object.entries(before).some(([code, word]) => after[code] !== word)) {
    await settings().update('severity', before, target);
  }
}
