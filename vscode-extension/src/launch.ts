import * as fs from 'node:fs';
import * as path from 'node:path';
import type * as vscode from 'vscode';
import type { ServerOptions } from 'vscode-languageclient/node';
import { findInterpreter, ISOLATED, mayRun, OLDEST, WrongSetting } from './interpreter';
import type { StartSettings } from './settings';
import { WorkerServer } from './webAssembly/transports';

export interface Launch {
  server: ServerOptions;
  /** For the log. */
  command: string;
  /** For the status: what runs the server, and which server. */
  description: string;
  /** The server is no process but part of this one, in which nothing else can be run. */
  inside?: WorkerServer;
}

/** The first entry of the module path is the current folder. */
const INSTALLED = [
  'import sys',
  'del sys.path[0]',
  'sys.argv[1:] = ["server"]',
  'from smem_lsp.__main__ import main',
  'sys.exit(main())',
].join('; ');

/** How to start the server: as a process, or inside of this one where there is no Python. */
export async function findLaunch(
  settings: StartSettings,
  { extensionPath, globalStorageUri }: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
): Promise<Launch> {
  // Not the workspace: a program looks for others, and Python for modules, in the current folder.
  const options = { cwd: extensionPath };
  if (settings.path) {
    const why = mayRun(settings.path) ? whyNot(settings.path) : 'lies in this workspace, which is not trusted';
    if (why) throw new WrongSetting('smem.path', `${settings.path}, which ${why}`);
    return process(settings.path, ['server'], options, settings.path);
  }
  const wantsInstalled = settings.importStrategy === 'fromEnvironment';
  const python = await findInterpreter(settings.interpreter, wantsInstalled, extensionPath);
  if ('tried' in python) {
    const inside = new WorkerServer(extensionPath, path.join(globalStorageUri.fsPath, 'webassembly'), log);
    const found = python.tried.length > 0 ? python.tried.join('; ') : 'there is none on PATH';
    return {
      server: () => Promise.resolve(inside.start()),
      command: `without Python ${OLDEST} or newer (${found}): the bundled server, in WebAssembly`,
      description: `no Python ${OLDEST}, and no nvcc`,
      inside,
    };
  }
  const installed = wantsInstalled && python.hasServer;
  const program = installed
    ? ['-X', 'utf8', ...ISOLATED, '-c', INSTALLED]
    : // Isolated: nothing that PYTHONPATH or a user's site holds gets in between the bundled packages.
      ['-I', '-X', 'utf8', path.join(extensionPath, 'bundled', 'serve.py')];
  const description = `Python ${python.version}, ${installed ? 'installed' : 'bundled'} server`;
  return process(python.command, [...python.args, ...program], options, description);
}

function process(command: string, args: string[], options: { cwd: string }, description: string): Launch {
  return { server: { command, args, options }, command: [command, ...args].join(' '), description };
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
