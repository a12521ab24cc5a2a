import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Executable } from 'vscode-languageclient/node';
import { findInterpreter, ISOLATED, mayRun, WrongSetting } from './interpreter';
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
    const why = mayRun(settings.path) ? whyNot(settings.path) : 'lies in this workspace, which is not trusted';
    if (why) throw new WrongSetting('smem.path', `${settings.path}, which ${why}`);
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

/** Why a program that is named by its whole path cannot be run. */
function whyNot(program: string): string | undefined {
  if (!path.isAbsolute(program)) return undefined; // the system looks for it on PATH
  try {
    fs.accessSync(program, fs.constants.X_OK);
    return fs.statSync(program).isFile() ? undefined : 'is no file';
  } catch {
    return 'cannot be run';
  }
}
