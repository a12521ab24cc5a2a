import * as vscode from 'vscode';
import type { DocumentSelector } from 'vscode-languageclient/node';

/**
 * The documents that the server gets. By name and not by language: every CUDA extension gives `.cu` a language of its
 * own, and the server decides which headers hold device code. A text that was never saved has only a language.
 */
export const DOCUMENTS: DocumentSelector = [
  { scheme: 'file', pattern: '**/*.{cu,cuh,hip,h,hpp,hu,inl}' },
  { scheme: 'untitled', pattern: '**/*.{cu,cuh,hip}' },
  { scheme: 'untitled', language: 'cuda-cpp' },
  { scheme: 'untitled', language: 'cuda' },
];

export function isOurs(document: vscode.TextDocument): boolean {
  return vscode.languages.match(DOCUMENTS as vscode.DocumentSelector, document) > 0;
}
