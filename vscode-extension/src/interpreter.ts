import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';

export const OLDEST = '3.10';

/**
 * `PYTHONPATH` and its like may lead into a workspace. Not `-I`: that leaves out the packages of the user, where
 * `pip install --user` puts the server.
 */
export const ISOLATED = ['-E'];

export interface Interpreter {
  command: string;
  args: string[];
  version: string;
  /** The package is installed for it. */
  hasServer: boolean;
}

interface Candidate {
  command: string;
  args: string[];
  origin: string;
}

/** No candidate fits; `tried` has one line for each. */
export interface NoInterpreter {
  tried: string[];
}

/** What a setting names cannot be used; the message says which and why. */
export class WrongSetting extends Error {
  constructor(
    readonly setting: string,
    why: string,
  ) {
    super(`The setting ${setting} names ${why}.`);
  }
}

// Written for Python 2 and 3: a version that is too old must be able to say so.
const PROBE = [
  'import sys',
  'del sys.path[0]', // the current folder
  'print("%d.%d.%d" % sys.version_info[:3])',
  'sys.stdout.flush()',
  'from importlib.util import find_spec',
  'print(find_spec("smem_lsp") is not None)',
].join('\n');

/**
 * The first Python that fits: the setting, `PATH`, the Python extension. A setting that does not fit is an
 * error and no reason to take another. With `wantsServer`, one that has the package comes before one that has not.
 *
 * `cwd` is a folder that nobody else writes to: some systems look for programs and modules in it.
 */
export async function findInterpreter(
  setting: string,
  wantsServer: boolean,
  cwd: string,
): Promise<Interpreter | NoInterpreter> {
  const tried: string[] = [];
  let fallback: Interpreter | undefined;
  for await (const candidate of candidates(setting)) {
    const found = mayRun(candidate.command)
      ? await probe(candidate, cwd)
      : 'lies in this workspace, which is not trusted';
    if (typeof found === 'string' && setting) {
      const needed = found.startsWith('is Python') ? `; smem-lsp needs ${OLDEST} or newer` : '';
      throw new WrongSetting('smem.interpreter', `${setting}, which ${found}${needed}`);
    }
    if (typeof found === 'string') tried.push(`${candidate.origin} ${found}`);
    else if (!wantsServer || found.hasServer) return found;
    else fallback ??= found;
  }
  return fallback ?? { tried };
}

async function* candidates(setting: string): AsyncGenerator<Candidate> {
  if (setting) {
    yield { command: setting, args: [], origin: 'smem.interpreter' };
    return;
  }
  for (const [name, ...args] of [['python3'], ['python'], ['py', '-3']] as const) {
    const command = findOnPath(name);
    if (command) yield { command, args, origin: command };
  }
  const command = await pythonExtensionChoice();
  if (command) yield { command, args: [], origin: `the Python extension (${command})` };
}

/** By hand and not by the system: Windows would look in the current folder first. */
function findOnPath(name: string): string | undefined {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue;
    for (const ending of endings) {
      const file = path.join(folder, name + ending);
      try {
        fs.accessSync(file, fs.constants.X_OK);
        if (fs.statSync(file).isFile()) return file;
      } catch {
        // Not here: the next folder.
      }
    }
  }
  return undefined;
}

/** The part of the Python extension's interface that is used; it has been stable since 2023. */
interface PythonExtension {
  environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

async function pythonExtensionChoice(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>('ms-python.python');
  // It may run the interpreters of the workspace to find out what they are.
  if (!extension || !vscode.workspace.isTrusted) return undefined;
  try {
    const { environments } = await extension.activate();
    const environment = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath());
    return environment?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

/** Nothing out of a workspace that is not trusted is run, whoever names it. */
export function mayRun(file: string): boolean {
  if (vscode.workspace.isTrusted) return true;
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.every((folder) => {
    const relative = path.relative(folder.uri.fsPath, file);
    return relative.startsWith('..') || path.isAbsolute(relative);
  });
}

/** The interpreter, or why it does not fit. */
function probe(candidate: Candidate, cwd: string): Promise<Interpreter | string> {
  const { command, args } = candidate;
  return new Promise((resolve) => {
    execFile(command, [...args, ...ISOLATED, '-c', PROBE], { cwd, timeout: 15_000, windowsHide: true }, (error, stdout) => {
      const [version, hasServer] = stdout.split(/\s+/);
      if (!version || !/^\d+\.\d+\.\d+$/.test(version)) {
        resolve(error?.killed ? 'did not answer' : 'could not be run');
      } else if (isOld(version)) {
        resolve(`is Python ${version}`);
      } else {
        resolve({ command, args, version, hasServer: hasServer === 'True' });
      }
    });
  });
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}
