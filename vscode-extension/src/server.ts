import * as vscode from 'vscode';
import { State, type LanguageClient } from 'vscode-languageclient/node';
import { createClient } from './client';
import { WrongSetting } from './interpreter';
import { findLaunch, type Launch } from './launch';
import { startSettings } from './settings';
import type { Status } from './status';

/** The server of this window: at most one runs, and starts and stops never overlap. */
export class Server {
  private client: LanguageClient | undefined;
  private launch: Launch | undefined;
  private last: Promise<void> = Promise.resolve();
  private readonly answered = new vscode.EventEmitter<void>();
  private readonly configured = new vscode.EventEmitter<void>();
  private crashTold = false;

  /** The server runs, or has answered about findings: what else is known of it may have changed. */
  readonly onDidAnswer = this.answered.event;

  /** The server has got the settings of now, and answers what is asked from now on by them. */
  readonly onDidConfigure = this.configured.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly status: Status,
  ) {}

  /** The client of a server that answers. */
  get running(): LanguageClient | undefined {
    return this.client?.isRunning() ? this.client : undefined;
  }

  /** Settles when the server that is being started runs, or has failed. */
  get started(): Promise<void> {
    return this.last;
  }

  restart(): Promise<void> {
    this.crashTold = false;
    return this.inTurn(async () => {
      await this.end();
      await this.begin();
    });
  }

  stop(): Promise<void> {
    return this.inTurn(() => this.end());
  }

  private inTurn(step: () => Promise<void>): Promise<void> {
    this.last = this.last.then(step, step);
    return this.last;
  }

  private async begin(): Promise<void> {
    const settings = startSettings();
    if (!settings.enable) {
      this.status.off();
      return;
    }
    this.status.starting();
    try {
      const launch = await findLaunch(settings, this.context, this.log);
      this.launch = launch;
      this.log.info(`Starting ${launch.command}`);
      const client = createClient(launch.server, this.log, {
        crashed: (restarts) => this.crashed(restarts),
        answered: () => this.answered.fire(),
        configured: () => this.configured.fire(),
      });
      this.client = client;
      client.onDidChangeState(({ newState }) => {
        if (newState === State.Starting) this.status.starting();
        else if (newState === State.Stopped) this.status.stopped();
        else if (newState === State.Running) {
          this.status.running(client.initializeResult?.serverInfo?.version, launch);
          this.answered.fire();
        }
      });
      await client.start();
    } catch (error) {
      this.failed(error);
    }
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      // A server that does not answer to "shutdown" is killed: a process by the client, a thread below.
      this.log.warn(`The server did not stop cleanly: ${String(error)}`);
    }
    await this.launch?.inside?.end();
    this.launch = undefined;
  }

  /** The user is told of the first crash, and when there are too many of them. */
  private crashed(restarts: boolean): void {
    this.log.warn(`The server ended unexpectedly${restarts ? ' and is started again' : ' too often'}.`);
    if (!restarts) {
      this.status.failed('ended five times within three minutes');
      void offer('The smem-lsp server ended five times within three minutes and is not started again.', 'error', [
        'Restart Server',
        'Show Logs',
      ]);
    } else if (!this.crashTold) {
      this.crashTold = true;
      void offer('The smem-lsp server ended unexpectedly and was started again.', 'warn', ['Show Logs']);
    }
  }

  private failed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.log.error(message);
    if (error instanceof WrongSetting) {
      this.status.failed(`${error.setting} cannot be used`);
      void offer(message, 'error', ['Open Setting', 'Show Logs'], error.setting);
    } else {
      this.status.failed('the server did not start');
      void offer(`The smem-lsp server did not start: ${message}`, 'error', ['Show Logs', 'Restart Server']);
    }
  }
}

const BUTTONS = {
  'Open Setting': 'smem.openSetting',
  'Show Logs': 'smem.showLogs',
  'Restart Server': 'smem.restart',
} as const;

/** `setting`: the one that "Open Setting" opens. */
async function offer(
  message: string,
  level: 'warn' | 'error',
  buttons: (keyof typeof BUTTONS)[],
  setting?: string,
): Promise<void> {
  const show = level === 'warn' ? vscode.window.showWarningMessage : vscode.window.showErrorMessage;
  const pressed = await show(message, ...buttons);
  if (pressed) {
    await vscode.commands.executeCommand(BUTTONS[pressed], setting);
  }
}
