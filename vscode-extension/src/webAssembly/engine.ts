/** What is used of Pyodide; its own types need those of a page. */
export interface Pyodide {
  FS: {
    filesystems: { NODEFS: unknown };
    mkdirTree(path: string): void;
    mount(type: unknown, options: { root: string }, mountpoint: string): unknown;
    chdir(path: string): void;
  };
  runPython(code: string): unknown;
  runPythonAsync(code: string): Promise<unknown>;
  unpackArchive(archive: ArrayBuffer, format: 'zip', options: { extractDir: string }): void;
}

export interface PyodideModule {
  loadPyodide(options: {
    indexURL: string;
    env: Record<string, string>;
    stdout: (line: string) => void;
    stderr: (line: string) => void;
  }): Promise<Pyodide>;
}

/** Where the packages lie in the file system that Python sees. */
export const LIBS = ['/smem/libs', '/smem/more'] as const;

/** Takes a message of the client as JSON. The exit code once the client has left, nothing before. */
export type Receive = (message: string) => number | undefined;

const SERVE = `
import sys

sys.path[:0] = [${LIBS.map((folder) => `"${folder}"`).join(', ')}]

from smem_lsp.server.in_process import InProcessServer


def serve(post):
    server = InProcessServer(lambda body: post(body.decode()))

    def receive(message):
        server.receive(message.encode())
        return server.exit_code

    return receive


serve
`;

/** A server on Pyodide's event loop. `post` takes its messages, as JSON. */
export async function serve(python: Pyodide, post: (message: string) => void): Promise<Receive> {
  const start = (await python.runPythonAsync(SERVE)) as (post: (message: string) => void) => Receive;
  return start(post);
}
