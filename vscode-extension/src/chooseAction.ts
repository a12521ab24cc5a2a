import * as vscode from 'vscode';
import { CodeActionResolveRequest, type CodeAction } from 'vscode-languageclient/node';
import type { Server } from './server';

/** What an entry of the light bulb that stands for several hands over. */
export interface ActionChoice {
  title: string;
  choices: { action: CodeAction; detail: string }[];
}

interface Item extends vscode.QuickPickItem {
  action: CodeAction;
}

/** Let the user choose one of several rewrites, and apply it. */
export async function chooseAction(server: Server, choice: ActionChoice): Promise<void> {
  const items: Item[] = choice.choices.map(({ action, detail }) => ({ label: action.title, detail, action }));
  const picked = await vscode.window.showQuickPick(items, { title: choice.title, matchOnDetail: true });
  const client = server.running;
  if (!picked || !client) return;
  const resolved = await client.sendRequest(CodeActionResolveRequest.type, picked.action);
  const edit = await client.protocol2CodeConverter.asWorkspaceEdit(resolved.edit);
  if (edit) await vscode.workspace.applyEdit(edit);
}
