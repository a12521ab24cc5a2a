import * as path from 'node:path';
import { Worker } from 'node:worker_threads';
import type * as vscode from 'vscode';
import {
  AbstractMessageReader,
  AbstractMessageWriter,
  Disposable,
  type DataCallback,
  type Message,
  type MessageTransports,
} from 'vscode-languageclient/node';
import type { FromWorker, WorkerData } from './messages';

const STACK = 16; // MiB: kernels may be nested deeply

/** The server in a thread of its own: no analysis keeps other extensions waiting. */
export class WorkerServer {
  private worker: Worker | undefined;

  /** `cache`: a folder that is kept for the next start. */
  constructor(
    private readonly extensionPath: string,
    private readonly cache: string,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  start(): MessageTransports {
    const bundled = (name: string): string => path.join(this.extensionPath, 'bundled', name);
    const data: WorkerData = {
      pyodide: path.join(this.extensionPath, 'dist', 'pyodide'),
      libs: [bundled('libs'), bundled('libs-webassembly')],
      cache: this.cache,
    };
    const worker = new Worker(path.join(this.extensionPath, 'dist', 'worker.mjs'), {
      workerData: data,
      resourceLimits: { stackSizeMb: STACK },
    });
    this.worker = worker;
    return { reader: new Reader(worker, this.log), writer: new Writer(worker) };
  }

  /** Whether or not the server has ended at the client's word, it has now. */
  async end(): Promise<void> {
    await this.worker?.terminate();
  }
}

class Reader extends AbstractMessageReader {
  constructor(
    private readonly worker: Worker,
    log: vscode.LogOutputChannel,
  ) {
    super();
    worker.on('error', (error) => this.fireError(error));
    worker.on('exit', () => this.fireClose());
    worker.on('message', (message: FromWorker) => {
      if ('log' in message) log.error(message.log);
    });
  }

  listen(callback: DataCallback): Disposable {
    const take = (message: FromWorker): void => {
      if ('body' in message) callback(JSON.parse(message.body) as Message);
    };
    this.worker.on('message', take);
    return Disposable.create(() => this.worker.off('message', take));
  }
}

class Writer extends AbstractMessageWriter {
  constructor(private readonly worker: Worker) {
    super();
  }

  write(message: Message): Promise<void> {
    this.worker.postMessage(JSON.stringify(message));
    return Promise.resolve();
  }

  end(): void {
    // The thread ends by itself at `exit`, and at the latest with `WorkerServer.end`.
  }
}
