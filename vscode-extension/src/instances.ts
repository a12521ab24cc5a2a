import * as vscode from 'vscode';
import type { Place } from './map';

/** What the lens `12 instances ▾` hands over. */
export interface InstanceChoice extends Place {
  instances: { name: string; title: string }[];
}

/** Let the user choose an instance of a template: the place of its map. */
export async function chooseInstance(choice: InstanceChoice): Promise<Place | undefined> {
  const items = choice.instances.map(({ name, title }) => ({ label: name, description: title }));
  const picked = await vscode.window.showQuickPick(items, { title: 'Memory map of', matchOnDescription: true });
  return picked && { uri: choice.uri, position: choice.position, instance: picked.label };
}
