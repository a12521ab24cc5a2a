import * as path from 'node:path';
import type { Executable } from 'vscode-languageclient/node';
import { findInterpreter, ISOLATED, mayRun } from './interpreter';
import type { StartSettings } from './settings';

export interface Launch {
  executable: Executable;
  /** For the status: what runs the server, and which server. */
  description: string;
}

/** The first entry of the module path is the current folder. */
const INSTALLED = [
  'import sys',
  'del sys.path[0]',
  'sys.argv[1:] = ["server"]',
  'from smem_lsp.__main__ import main',
  'sys.exit(main())',
].join('; ');

/** How to start the server. Raises NoInterpreter. */
export async function findLaunch(settings: StartSettings, extensionPath: string): Promise<Launch> {
  // Not the workspace: a program looks for others, and Python for modules, in the current folder.
  const options = { cwd: extensionPath };
  if (settings.path) {
    if (!mayRun(settings.path)) throw new Error(`${settings.path} lies in this workspace, which is not trusted`);
    return { executable: { command: settings.path, args: ['server'], options }, description: settings.path };
  }
  const wantsInstalled = settings.importStrategy === 'fromEnvironment';
  const python = await findInterpreter(settings.interpreter, wantsInstalled, extensionPath);
  const installed = wantsInstalled && python.hasServer;
  const program = installed
    ? ['-X', 'utf8', ...ISOLATED, '-c', INSTALLED]
    : // Isolated: nothing that PYTHONPATH or a user's site holds gets in between the bundled packages.
      ['-I', '-X', 'utf8', path.join(extensionPath, 'bundled', 'serve.py')];
  return {
    executable: { command: python.command, args: [...python.args, ...program], options },
    description: `Python ${python.version}, ${installed ? 'installed' : 'bundled'} server`,
  };
}
