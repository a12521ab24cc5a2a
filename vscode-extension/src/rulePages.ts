import * as vscode from 'vscode';
import type { Server } from './server';

const SCHEME = 'smem-rule';

interface RulePage {
  code: string;
  name: string;
  severity: string;
  explanation: string;
}

/** The page of a rule, from the server that reported it: it needs no network and fits the version. */
export function registerRulePages(server: Server): vscode.Disposable {
  return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
    async provideTextDocumentContent(uri) {
      const code = uri.path.slice(1).replace(/\.md$/, '');
      const page = await server.running?.sendRequest<RulePage | null>('smem/explain', { code });
      if (!page) return `# ${code}\n\nThe server that runs has no page of this rule.\n`;
      // The name of the language in this editor, so that the examples are coloured.
      const explanation = page.explanation.replaceAll('```cuda\n', '```cuda-cpp\n');
      const severity = `Severity: ${page.severity} at most, unless set otherwise.`;
      return `# ${page.code} ${page.name}\n\n${severity}\n\n${explanation}\n`;
    },
  });
}

/** Make the code of each diagnostic a link to its page, unless the server gave it one. */
export function withRulePages<T extends vscode.Diagnostic>(diagnostics: T[]): T[] {
  for (const diagnostic of diagnostics) {
    if (typeof diagnostic.code !== 'string') continue;
    const value = diagnostic.code;
    diagnostic.code = { value, target: vscode.Uri.from({ scheme: SCHEME, path: `/${value}.md` }) };
  }
  return diagnostics;
}
