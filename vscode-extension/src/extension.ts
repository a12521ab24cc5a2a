import * as vscode from 'vscode';
import { registerCommands } from './commands';
import { MemoryMaps } from './map';
import { registerRulePages } from './rulePages';
import { Server } from './server';
import { needsRestart } from './settings';
import { Status } from './status';

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel('smem-lsp', { log: true });
  const status = new Status();
  server = new Server(context.extensionPath, log, status);
  const maps = new MemoryMaps(server);
  context.subscriptions.push(
    log,
    status,
    maps,
    registerRulePages(server),
    ...registerCommands(server, maps, log),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (needsRestart(event)) await server?.restart();
    }),
    // What the workspace names may be run from now on: the server was started without.
    vscode.workspace.onDidGrantWorkspaceTrust(() => server?.restart()),
  );
  await server.restart();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
