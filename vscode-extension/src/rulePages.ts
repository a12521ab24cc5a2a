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
      if (!page) return `# ${code}\n\nThe running server has no page for this rule.\n`;
      // A language that the Markdown preview knows, so that the examples are coloured.
      const explanation = page.explanation.replaceAll('```cuda\n', '```cpp\n');
      const severity = `Severity: ${page.severity} at most, unless set otherwise.`;
      return `# ${page.code} ${page.name}\n\n${severity}\n\n${explanation}\n`;
    },
  });
}

/** Show the page of a rule as it is meant to be read; its source where there is no Markdown preview. */
export async function showRulePage(code: string): Promise<void> {
  const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${code}.md` });
  try {
    await vscode.commands.executeCommand('markdown.showPreview', uri);
  } catch {
    await vscode.window.showTextDocument(uri, { preview: true });
  }
}
