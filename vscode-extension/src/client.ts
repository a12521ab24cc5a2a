import * as vscode from 'vscode';
import {
  CloseAction,
  ConfigurationRequest,
  DidChangeConfigurationNotification,
  LanguageClient,
  RevealOutputChannelOn,
  vsdiag,
  type ErrorHandler,
  type Middleware,
  type ServerOptions,
} from 'vscode-languageclient/node';
import { DOCUMENTS } from './documents';
import { withRuleLinks } from './ruleLinks';
import { SECTION, serverSettings } from './settings';

/** Whom the client tells. */
export interface Listener {
  /** The server ended by itself. `restarts`: it is started again. */
  crashed(restarts: boolean): void;
  /** The server has answered about findings or lenses. */
  answered(): void;
  /** The server has got the settings of now. */
  configured(): void;
}

/** Commands that code actions and lenses of the server may name. */
const COMMANDS = ['smem.openMap', 'smem.chooseContext', 'smem.chooseInstance', 'smem.chooseAction', 'smem.showRace'];

/** A client whose errors go to the log alone: `Server` tells the user what there is to tell, once. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** A client that is not started yet. */
export function createClient(
  server: ServerOptions,
  log: vscode.LogOutputChannel,
  listener: Listener,
): LanguageClient {
  const client: LanguageClient = new QuietClient(SECTION, 'smem-lsp', server, {
    documentSelector: DOCUMENTS,
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // A function: a server that is started again gets the settings of that moment.
    initializationOptions: () => ({
      settings: serverSettings(),
      trusted: vscode.workspace.isTrusted,
      commands: COMMANDS,
    }),
    middleware: {
      workspace: workspaceMiddleware(() => client, listener),
      handleDiagnostics: (uri, diagnostics, next) => next(uri, withRuleLinks(diagnostics)),
      provideDiagnostics: async (document, previous, token, next) => {
        const report = await next(document, previous, token);
        if (report?.kind === vsdiag.DocumentDiagnosticReportKind.full) withRuleLinks(report.items);
        listener.answered();
        return report;
      },
    },
    errorHandler: errorHandler(() => client, listener),
    initializationFailedHandler: () => false, // no toast of the library's own
  });
  return client;
}

/** The default policy: start again, unless the server ended five times within three minutes. */
function errorHandler(client: () => LanguageClient, listener: Listener): ErrorHandler {
  let standard: ErrorHandler | undefined;
  // One for the life of the client: it counts.
  const policy = () => (standard ??= client().createDefaultErrorHandler());
  return {
    error: (error, message, count) => policy().error(error, message, count),
    closed: async () => {
      const result = await policy().closed();
      listener.crashed(result.action === CloseAction.Restart);
      return { ...result, handled: true };
    },
  };
}

/** The server, which registers for changes, sees our settings in one form, whether it asks for them or is told. */
function workspaceMiddleware(
  client: () => LanguageClient,
  listener: Listener,
): NonNullable<Middleware['workspace']> {
  return {
    configuration: async (params, token, next: ConfigurationRequest.HandlerSignature) => {
      const answers = await next(params, token);
      if (!Array.isArray(answers)) return answers;
      setImmediate(() => listener.configured()); // once the answer has been sent
      return params.items.map((item, index): unknown => {
        if (item.section !== SECTION) return answers[index];
        return serverSettings(item.scopeUri ? client().protocol2CodeConverter.asUri(item.scopeUri) : undefined);
      });
    },
    didChangeConfiguration: async () => {
      const settings = { [SECTION]: serverSettings() };
      await client().sendNotification(DidChangeConfigurationNotification.type, { settings });
    },
  };
}
