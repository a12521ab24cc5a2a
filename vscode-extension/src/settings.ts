import * as path from 'node:path';
import * as os from 'node:os';
import * as vscode from 'vscode';

export const SECTION = 'smem';

/** Settings that decide which program runs; all others the running server takes over. */
const START_SETTINGS = ['enable', 'interpreter', 'importStrategy', 'path'];

export interface StartSettings {
  enable: boolean;
  interpreter: string;
  importStrategy: 'useBundled' | 'fromEnvironment';
  path: string;
}

export function startSettings(): StartSettings {
  const settings = vscode.workspace.getConfiguration(SECTION);
  return {
    enable: settings.get('enable', true),
    interpreter: expand(settings.get('interpreter', '')),
    importStrategy: settings.get('importStrategy', 'useBundled'),
    path: expand(settings.get('path', '')),
  };
}

export function needsRestart(event: vscode.ConfigurationChangeEvent): boolean {
  return START_SETTINGS.some((name) => event.affectsConfiguration(`${SECTION}.${name}`));
}

/**
 * What the server gets, for one file or folder: only what somebody has set. An editor's default must not
 * overrule a config file, and `null` and `[]` mean "not set" in the settings editor.
 */
export function serverSettings(scope?: vscode.Uri): Record<string, unknown> {
  const settings = vscode.workspace.getConfiguration(SECTION, scope ?? null);
  const result: Record<string, unknown> = {
    codeLens: { enable: settings.get('codeLens.enable', true) },
    inlayHints: { enable: settings.get('inlayHints.enable', false) },
    logLevel: settings.get('logLevel', 'warning'),
    target: settings.get('target', 'first'),
  };
  for (const name of ['threads', 'registers']) {
    const value = settings.get<number | string | null>(name);
    if (typeof value === 'number' || (typeof value === 'string' && value)) result[name] = value;
  }
  const contexts = settings.get<Record<string, string>>('contexts', {});
  if (Object.keys(contexts).length > 0) result['contexts'] = { ...contexts };
  const effort = settings.get('effort', 'normal');
  if (effort !== 'normal') result['effort'] = effort;
  const compiler = expand(settings.get('nvcc', ''), scope && vscode.workspace.getWorkspaceFolder(scope));
  if (compiler) result['nvcc'] = compiler;
  const ignore = [...list(settings, 'ignore')];
  // One table; an entry that is written `smem.severity.SMEM301` joins it.
  const severity: Record<string, string> = {};
  for (const [code, word] of Object.entries(settings.get<Record<string, string>>('severity', {}))) {
    if (word === 'off') ignore.push(code);
    else if (word !== 'default') severity[code] = word;
  }
  const folder = scope && vscode.workspace.getWorkspaceFolder(scope);
  const lists = {
    arch: list(settings, 'arch'),
    select: list(settings, 'select'),
    ignore,
    defines: list(settings, 'defines'),
    includeDirs: list(settings, 'includeDirs').map((entry) => absolute(expand(entry, folder), folder)),
  };
  for (const [name, values] of Object.entries(lists)) {
    if (values.length > 0) result[name] = values;
  }
  if (Object.keys(severity).length > 0) result['severity'] = severity;
  return result;
}

function list(settings: vscode.WorkspaceConfiguration, name: string): string[] {
  const value = settings.get<unknown>(name);
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

function absolute(entry: string, folder: vscode.WorkspaceFolder | undefined): string {
  const root = folder ?? vscode.workspace.workspaceFolders?.[0];
  return path.isAbsolute(entry) || !root ? entry : path.join(root.uri.fsPath, entry);
}

function expand(text: string, folder = vscode.workspace.workspaceFolders?.[0]): string {
  const home = text === '~' || text.startsWith('~/') ? os.homedir() + text.slice(1) : text;
  return home.replaceAll('${workspaceFolder}', folder?.uri.fsPath ?? '').trim();
}
