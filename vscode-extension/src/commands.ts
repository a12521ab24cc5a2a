import * as vscode from 'vscode';
import { chooseAction, type ActionChoice } from './chooseAction';
import { chooseContext, type ContextChoice } from './contexts';
import { chooseInstance, type InstanceChoice } from './instances';
import type { MemoryMaps, Place } from './map';
import type { RaceReplay } from './race';
import { SHOW_RULE } from './ruleLinks';
import { showRulePage } from './rulePages';
import { openSample } from './sample';
import type { Scan } from './scan';
import type { Server } from './server';
import type { TargetItem } from './targets';

/** What commands act on. */
export interface Parts {
  server: Server;
  maps: MemoryMaps;
  races: RaceReplay;
  scan: Scan;
  targets: TargetItem;
  log: vscode.LogOutputChannel;
  extensionUri: vscode.Uri;
}

const NO_KERNEL = 'Open a CUDA file and put the cursor in a kernel.';

export function registerCommands({ server, maps, races, scan, targets, log, extensionUri }: Parts): vscode.Disposable[] {
  const register = vscode.commands.registerCommand;
  return [
    register('smem.restart', () => server.restart()),
    register('smem.showLogs', () => log.show(true)),
    register('smem.openSettings', () =>
      vscode.commands.executeCommand('workbench.action.openSettings', '@ext:smem-lsp.smem-lsp'),
    ),
    register(SHOW_RULE, (code: unknown) => (typeof code === 'string' ? showRulePage(code) : undefined)),
    register('smem.openSetting', (setting: unknown) => {
      // A setting of the machine: in a remote window the tab of the user does not show it.
      const where = vscode.env.remoteName ? 'openRemoteSettings' : 'openSettings';
      const query = typeof setting === 'string' ? setting : 'smem.interpreter';
      return vscode.commands.executeCommand(`workbench.action.${where}`, { query });
    }),
    register('smem.openSample', () => openSample(extensionUri)),
    register('smem.chooseTarget', () => targets.choose()),
    register('smem.scanWorkspace', () => scan.choose()),
    register('smem.exportMap', () => maps.export()),
    register('smem.applyLayout', (barriers: unknown) => maps.apply(typeof barriers === 'number' ? barriers : 0)),
    register('smem.applyPreview', () => maps.applyPreview()),
    register('smem.chooseAction', async (choice?: ActionChoice) => {
      if (choice) await chooseAction(server, choice);
    }),
    register('smem.chooseInstance', async (choice?: InstanceChoice) => {
      const place = choice && (await chooseInstance(choice));
      if (place) await maps.open(place);
    }),
    register('smem.showRace', async (place?: Place) => {
      const wanted = isPlace(place) ? place : placeOfCursor();
      if (wanted) await races.show(wanted);
      else void vscode.window.showInformationMessage(NO_KERNEL);
    }),
    register('smem.chooseContext', async (choice?: ContextChoice) => {
      if (choice) await chooseContext(choice);
    }),
    register('smem.openMap', async (place?: Place) => {
      const wanted = isPlace(place) ? place : placeOfCursor();
      if (wanted) await maps.open(wanted);
      else void vscode.window.showInformationMessage(NO_KERNEL);
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
