"use strict";
// The client of stapy's language server: one server for each window, started with the first script.

const vscode = require("vscode");
const { CloseAction, LanguageClient } = require("vscode-languageclient/node");
const { start } = require("./server");

/** @typedef {import("./server").Settings} Settings */

const SETTINGS = ["stapy.command", "stapy.kernel", "stapy.arguments"];

/** @type {LanguageClient | undefined} */
let running;
/** @type {Promise<void>} What has been asked for, one after the other. */
let last = Promise.resolve();

/** @param {vscode.ExtensionContext} context */
async function activate(context) {
  const channel = vscode.window.createOutputChannel("stapy", { log: true });
  const restart = () => {
    last = last.then(() => stop()).then(() => begin(channel));
    return last;
  };
  context.subscriptions.push(
    channel,
    vscode.commands.registerCommand("stapy.restart", restart),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (SETTINGS.some((name) => event.affectsConfiguration(name))) restart();
    }),
  );
  await restart();
}

async function deactivate() {
  await last;
  await stop();
}

/** @returns {Settings} */
function settings() {
  const have = vscode.workspace.getConfiguration("stapy");
  return {
    command: have.get("command", "stapy"),
    kernel: have.get("kernel", ""),
    arguments: have.get("arguments", []),
  };
}

/**
 * Start a server and a client of it. What goes wrong is told; nothing is thrown.
 * @param {vscode.LogOutputChannel} channel
 */
async function begin(channel) {
  /** @type {Awaited<ReturnType<typeof start>> | undefined} */
  let server;
  let isReady = false;
  /** @type {LanguageClient} */
  const client = new (class extends LanguageClient {
    /**
     * Keep to the output what the library shows of a server that never began: it is told below.
     * @type {LanguageClient["error"]}
     */
    error(message, data, show) {
      super.error(message, data, isReady && show);
    }
  })(
    "stapy",
    "stapy",
    async () => {
      server = await start(settings());
      return server.child;
    },
    {
      documentSelector: ["file", "untitled"].map((scheme) => ({ scheme, language: "systemtap" })),
      outputChannel: channel,
      initializationFailedHandler: () => false, // told below
      errorHandler: {
        error: (error, message, count) => byDefault.error(error, message, count),
        closed: async () => {
          // One that never began would only do so again.
          if (!isReady) return { action: CloseAction.DoNotRestart, handled: true };
          const result = await byDefault.closed();
          if (result.action === CloseAction.Restart) return result;
          return { ...result, message: await server?.ended };
        },
      },
    },
  );
  const byDefault = client.createDefaultErrorHandler();
  try {
    await client.start();
    isReady = true;
    running = client;
  } catch (error) {
    // What the server says when it ends tells more than that its pipe was closed.
    const reason = error instanceof Error ? error.message : String(error);
    tell(server === undefined ? reason : await server.ended);
  }
}

async function stop() {
  const client = running;
  running = undefined;
  // A server that has ended already cannot be asked to.
  await client?.dispose().catch(() => {});
}

/**
 * Tell what hinders the server, with a way to the settings; not awaited, for it may stand for long.
 * @param {string} text
 */
function tell(text) {
  const open = "Open Settings";
  void vscode.window.showErrorMessage(text, open).then((chosen) => {
    if (chosen === open) {
      void vscode.commands.executeCommand("workbench.action.openSettings", "stapy.");
    }
  });
}

module.exports = { activate, deactivate };
