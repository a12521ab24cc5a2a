import * as vscode from 'vscode';

/** Open a copy of the sample kernel: it has a missing barrier, buffers that can be merged, and a map. */
export async function openSample(extensionUri: vscode.Uri): Promise<void> {
  const file = vscode.Uri.joinPath(extensionUri, 'walkthrough', 'sample.cu');
  const content = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
  const document = await vscode.workspace.openTextDocument({ language: 'cuda-cpp', content });
  await vscode.window.showTextDocument(document);
}
