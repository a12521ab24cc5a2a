import * as vscode from 'vscode';

/** The command behind the code of a finding. It needs an argument, so it is not in the palette. */
export const SHOW_RULE = 'smem.showRule';

/** Make the code of each diagnostic a link to its page, unless the server gave it one. */
export function withRuleLinks<T extends vscode.Diagnostic>(diagnostics: T[]): T[] {
  for (const diagnostic of diagnostics) {
    if (typeof diagnostic.code !== 'string') continue;
    const value = diagnostic.code;
    const query = JSON.stringify([value]);
    diagnostic.code = { value, target: vscode.Uri.from({ scheme: 'command', path: SHOW_RULE, query }) };
  }
  return diagnostics;
}
