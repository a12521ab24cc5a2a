import * as vscode from 'vscode';
import { chooseContext, type ContextChoice } from './contexts';
import type { MemoryMaps, Place } from './map';
import { SHOW_RULE } from './ruleLinks';
import { showRulePage } from './rulePages';
import type { Server } from './server';

export function registerCommands(server: Server, maps: MemoryMaps, log: vscode.LogOutputChannel): vscode.Disposable[] {
  const register = vscode.commands.registerCommand;
  return [
    register('smem.restart', () => server.restart()),
    register('smem.showLogs', () => log.show(true)),
    register('smem.openSettings', () =>
      vscode.commands.executeCommand('workbench.action.openSettings', '@ext:smem-lsp.smem-lsp'),
    ),
    register(SHOW_RULE, (code: unknown) => (typeof code === 'string' ? showRulePage(code) : undefined)),
    register('smem.chooseInterpreter', () => {
      // A setting of the machine: in a remote window the tab of the user does not show it.
      const where = vscode.env.remoteName ? 'openRemoteSettings' : 'openSettings';
      return vscode.commands.executeCommand(`workbench.action.${where}`, { query: 'smem.interpreter' });
    }),
    register('smem.chooseContext', async (choice?: ContextChoice) => {
      if (choice) await chooseContext(choice);
    }),
    register('smem.openMap', async (place?: Place) => {
      const wanted = isPlace(place) ? place : placeOfCursor();
      if (wanted) await maps.open(wanted);
      else void vscode.window.showInformationMessage('Open a CUDA file and put the cursor in a kernel.');
    }),
  ];
}

/** A menu calls commands with arguments of its own. */
function isPlace(value: Place | undefined): value is Place {
  return typeof value?.uri === 'string' && typeof value.position?.line === 'number';
}

function placeOfCursor(): Place | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return undefined;
  const { line, character } = editor.selection.active;
  return { uri: editor.document.uri.toString(), position: { line, character } };
}
