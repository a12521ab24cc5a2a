import * as vscode from 'vscode';
import { registerCommands } from './commands';
import { Gutter } from './gutter';
import { MemoryMaps } from './map';
import { migrateSettings } from './migration';
import { RaceReplay } from './race';
import { registerRulePages } from './rulePages';
import { Scan } from './scan';
import { Server } from './server';
import { needsRestart } from './settings';
import { Status } from './status';
import { TargetItem } from './targets';

let server: Server | undefined;

/** For tests, what cannot be seen from outside. */
export interface Api {
  gutter: Gutter;
  scan: Scan;
  maps: MemoryMaps;
  server: Server;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const log = vscode.window.createOutputChannel('smem-lsp', { log: true });
  const status = new Status();
  server = new Server(context, log, status);
  const maps = new MemoryMaps(server);
  const races = new RaceReplay(server);
  const scan = new Scan(server);
  const targets = new TargetItem(server);
  const gutter = new Gutter(server);
  context.subscriptions.push(
    log,
    status,
    maps,
    races,
    scan,
    targets,
    gutter,
    registerRulePages(server),
    ...registerCommands({ server, maps, races, scan, targets, log, extensionUri: context.extensionUri }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (needsRestart(event)) await server?.restart();
    }),
    // What the workspace names may be run from now on: the server was started without.
    vscode.workspace.onDidGrantWorkspaceTrust(() => server?.restart()),
  );
  await server.restart();
  void migrateSettings(log);
  return { gutter, scan, maps, server };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
