"use strict";
// Activates the bundled extension in an editor of the tests, does with it what is told, and prints
// what came of it: node activate.js BUNDLE FOLDER SETTINGS SCRIPT, the last two as JSON and a path.

const { readFileSync } = require("node:fs");
const Module = require("node:module");
const { Document, Editor } = require("./editor");

const [bundle, folder, settings, path] = process.argv.slice(2);
const editor = new Editor(folder, JSON.parse(settings));
const load = Module._load;
const asked = new Set(); // what the bundle wants that is no part of Node
Module._load = (name, ...rest) => {
  if (name === "vscode") return editor.module;
  if (!Module.isBuiltin(name) && name !== bundle) asked.add(name);
  return load(name, ...rest);
};
const extension = require(bundle);
const document = new Document(path, readFileSync(path, "utf8"));
const key = document.uri.toString();
const judged = () => editor.until(() => editor.diagnostics.get(key)?.length && editor.diagnostics.get(key), "a mistake");

/** What a user sees, in plain values. */
async function seen() {
  const diagnostics = (await judged()).map(({ code, message, range }) => ({ code, message, range }));
  const at = document.text.indexOf("exit");
  const { Position, CancellationTokenSource } = editor.module;
  const hover = await editor.providers.registerHoverProvider.provideHover(
    document, new Position(0, at + 2), new CancellationTokenSource().token,
  );
  return { diagnostics, hover: JSON.stringify(hover?.given ?? hover) };
}

/** Do something that has the server started anew, and wait until the new one has judged. */
async function anew(what) {
  editor.diagnostics.clear();
  await what();
  await judged();
}

async function main() {
  const subscriptions = [];
  editor.documents.push(document);
  editor.answer = "Open Settings";
  await extension.activate({ subscriptions });
  const told = { asked: [...asked], commands: [...editor.commands.keys()] };
  if (editor.messages.length === 0) {
    told.seen = await seen();
    await anew(() => editor.change({ arguments: [...editor.settings.arguments, "-g"] }));
    await anew(() => editor.commands.get("stapy.restart")());
    // A server that is killed comes again by itself.
    const pids = () => readFileSync(`${folder}/started`, "utf8").trim().split("\n");
    await anew(() => process.kill(Number(pids().at(-1).split(" ")[0])));
    editor.change({ elsewhere: 1 }); // no reason to start one
    editor.change({ command: "/no/such/stapy" });
    await editor.until(() => editor.messages.length, "a message");
    await new Promise((resolve) => setImmediate(resolve));
  }
  await extension.deactivate();
  subscriptions.forEach((one) => one.dispose());
  console.log(JSON.stringify({ ...told, messages: editor.messages, executed: editor.executed }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // the server would be waited for; it ends with its pipe
});
