import * as vscode from 'vscode';
import {
  CloseAction,
  ConfigurationRequest,
  DidChangeConfigurationNotification,
  LanguageClient,
  RevealOutputChannelOn,
  vsdiag,
  type ErrorHandler,
  type Executable,
  type Middleware,
} from 'vscode-languageclient/node';
import { DOCUMENTS } from './documents';
import { withRuleLinks } from './ruleLinks';
import { SECTION, serverSettings } from './settings';

/** A client that is not started yet. `onCrash` is called when the server ended by itself and is started again. */
export function createClient(
  executable: Executable,
  log: vscode.LogOutputChannel,
  onCrash: () => void,
): LanguageClient {
  const client: LanguageClient = new LanguageClient(SECTION, 'smem-lsp', executable, {
    documentSelector: DOCUMENTS,
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // A function: a server that is started again gets the settings of that moment.
    initializationOptions: () => ({ settings: serverSettings(), trusted: vscode.workspace.isTrusted }),
    middleware: {
      workspace: workspaceMiddleware(() => client),
      handleDiagnostics: (uri, diagnostics, next) => next(uri, withRuleLinks(diagnostics)),
      provideDiagnostics: async (document, previous, token, next) => {
        const report = await next(document, previous, token);
        if (report?.kind === vsdiag.DocumentDiagnosticReportKind.full) withRuleLinks(report.items);
        return report;
      },
    },
    errorHandler: errorHandler(() => client, onCrash),
  });
  return client;
}

/** The default policy: start again, unless the server ended five times within three minutes. */
function errorHandler(client: () => LanguageClient, onCrash: () => void): ErrorHandler {
  let standard: ErrorHandler | undefined;
  // One for the life of the client: it counts.
  const policy = () => (standard ??= client().createDefaultErrorHandler());
  return {
    error: (error, message, count) => policy().error(error, message, count),
    closed: async () => {
      const result = await policy().closed();
      const restarts = result.action === CloseAction.Restart;
      if (restarts) onCrash();
      return { ...result, handled: restarts };
    },
  };
}

/** The server, which registers for changes, sees our settings in one form, whether it asks for them or is told. */
function workspaceMiddleware(client: () => LanguageClient): NonNullable<Middleware['workspace']> {
  return {
    configuration: async (params, token, next: ConfigurationRequest.HandlerSignature) => {
      const answers = await next(params, token);
      if (!Array.isArray(answers)) return answers;
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
