"use strict";
// The part of VS Code's module that the extension and its library use, for tests without VS Code:
// it keeps what it is told. Whether the extension calls it as VS Code has it is tsc's to say.

const EventEmitter = require("node:events");
const { pathToFileURL, fileURLToPath } = require("node:url");

class Disposable {
  constructor(dispose) {
    this.dispose = dispose ?? (() => {});
  }
  static from(...all) {
    return new Disposable(() => all.forEach((one) => one.dispose()));
  }
}

class Uri {
  constructor(href) {
    const url = new URL(href);
    this.scheme = url.protocol.slice(0, -1);
    this.path = url.pathname;
    this.fsPath = this.scheme === "file" ? fileURLToPath(url) : url.pathname;
    this.href = href;
  }
  static parse(href) {
    return new Uri(href);
  }
  static file(path) {
    return new Uri(pathToFileURL(path).href);
  }
  toString() {
    return this.href;
  }
}

class Position {
  constructor(line, character) {
    this.line = line;
    this.character = character;
  }
}

class Range {
  constructor(a, b, c, d) {
    this.start = d === undefined ? a : new Position(a, b);
    this.end = d === undefined ? b : new Position(c, d);
  }
}

class Emitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener, that) => {
      const bound = that ? listener.bind(that) : listener;
      this.listeners.add(bound);
      return new Disposable(() => this.listeners.delete(bound));
    };
  }
  fire(value) {
    for (const listener of this.listeners) listener(value);
  }
  dispose() {
    this.listeners.clear();
  }
}

class CancellationTokenSource {
  constructor() {
    this.token = { isCancellationRequested: false, onCancellationRequested: new Emitter().event };
  }
  cancel() {
    this.token.isCancellationRequested = true;
  }
  dispose() {}
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class Document {
  constructor(path, text) {
    this.uri = Uri.file(path);
    this.fileName = path;
    this.languageId = "systemtap";
    this.version = 1;
    this.isClosed = false;
    this.text = text;
  }
  getText() {
    return this.text;
  }
}

/** What happens in this editor, and what it was told; `heard` waits for either. */
class Editor extends EventEmitter {
  constructor(folder, settings) {
    super();
    this.settings = settings;
    this.folder = folder;
    this.documents = [];
    this.messages = []; // errors that were shown: [text, ...buttons]
    this.answer = undefined; // the button that the user presses
    this.executed = [];
    this.commands = new Map();
    this.diagnostics = new Map();
    this.providers = {};
    this.output = "";
    this.module = makeModule(this);
  }

  /** Wait until `test` gives something, at most a minute; return it. */
  async until(test, what) {
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      const found = test();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`${what} did not come; the output: ${this.output}`);
  }

  /** Change settings, as a user does. */
  change(settings) {
    this.settings = { ...this.settings, ...settings };
    this.emit("onDidChangeConfiguration", {
      affectsConfiguration: (name) => Object.keys(settings).some((one) => `stapy.${one}` === name),
    });
  }
}

function makeModule(editor) {
  const event = (name) => (listener, that) => {
    const bound = that ? listener.bind(that) : listener;
    editor.on(name, bound);
    return new Disposable(() => editor.off(name, bound));
  };
  const collection = () => ({
    set: (uri, items) => editor.diagnostics.set(uri.toString(), items ?? []),
    delete: (uri) => editor.diagnostics.delete(uri.toString()),
    clear: () => editor.diagnostics.clear(),
    dispose: () => editor.diagnostics.clear(),
  });
  const log = (text) => {
    editor.output += `${text}\n`;
  };
  const rest = (known, name) =>
    new Proxy(known, {
      get(target, key) {
        if (key in target || typeof key === "symbol") return target[key];
        if (key.startsWith("onDid") || key.startsWith("onWill")) return event(key);
        if (key.startsWith("register")) {
          return (selector, provider) => {
            editor.providers[key] = provider;
            return new Disposable();
          };
        }
        throw new Error(`vscode.${name}.${String(key)} is not here: add it if VS Code has it`);
      },
    });
  const known = {
    Disposable, EventEmitter: Emitter, CancellationTokenSource, Diagnostic, Uri, Position, Range,
    version: "1.91.0",
    env: { appName: "a test", language: "en", clipboard: {}, uriScheme: "vscode" },
    extensions: { getExtension: () => undefined },
    window: rest({
      visibleTextEditors: [], activeTextEditor: undefined, tabGroups: rest({ all: [] }, "tabGroups"),
      createOutputChannel: () => ({
        append: log, appendLine: log, info: log, warn: log, error: log, debug: log, trace: log,
        logLevel: 3, show: () => {}, dispose: () => {}, onDidChangeLogLevel: event("level"),
      }),
      showErrorMessage: async (text, ...buttons) => {
        editor.messages.push([text, ...buttons]);
        return editor.answer;
      },
    }, "window"),
    commands: {
      registerCommand: (name, run) => {
        if (editor.commands.has(name)) throw new Error(`there is a command ${name}`);
        editor.commands.set(name, run);
        return new Disposable(() => editor.commands.delete(name));
      },
      executeCommand: async (...words) => void editor.executed.push(words),
    },
    languages: rest({
      createDiagnosticCollection: collection,
      match: (selector, document) =>
        [selector].flat().some((one) => one.language === document.languageId) ? 10 : 0,
    }, "languages"),
    workspace: rest({
      get textDocuments() {
        return editor.documents;
      },
      notebookDocuments: [],
      workspaceFolders: [{ uri: Uri.file(editor.folder), name: "folder", index: 0 }],
      getConfiguration: (section) => ({
        get: (name, other) => (section === "stapy" ? (editor.settings[name] ?? other) : other),
      }),
      getWorkspaceFolder: () => undefined,
      createFileSystemWatcher: () => rest({ dispose: () => {} }, "watcher"),
    }, "workspace"),
  };
  return new Proxy(known, {
    get(target, key) {
      // Classes that the library extends or makes, and enumerations that it counts with.
      if (!(key in target) && typeof key === "string") target[key] = thing(key);
      return target[key];
    },
  });
}

function thing(name) {
  const made = {
    [name]: class {
      constructor(...given) {
        this.given = given;
      }
    },
  }[name];
  return new Proxy(made, {
    get: (target, key) => (key in target || typeof key === "symbol" ? target[key] : `${name}.${key}`),
  });
}

module.exports = { Document, Editor };
