"use strict";
// How stapy's language server is started, and what is told when it cannot be. It knows nothing of
// the editor, so that a test starts the server in just this way.

const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { homedir } = require("node:os");
const { delimiter, isAbsolute, join } = require("node:path");

/**
 * What the user has set, see package.json.
 * @typedef {{command: string, kernel: string, arguments: readonly string[]}} Settings
 */

// What is kept of what a server says on its standard error, in characters.
const KEPT = 4000;

/**
 * Write the command line that the settings ask for.
 * @param {Settings} settings
 * @returns {{command: string, words: string[]}}
 */
function commandLine(settings) {
  const named = settings.command.trim();
  const command = named.startsWith("~/") ? join(homedir(), named.slice(2)) : named;
  const kernel = settings.kernel.trim();
  return {
    command,
    words: ["--language-server", ...(kernel ? ["-r", kernel] : []), ...settings.arguments],
  };
}

/**
 * Leave out of the variables in which programs and modules are looked up what depends on the
 * folder: an empty element is the present one.
 * @param {NodeJS.ProcessEnv} variables
 * @returns {NodeJS.ProcessEnv}
 */
function environment(variables) {
  const cleaned = { ...variables };
  for (const name of ["PATH", "PYTHONPATH"]) {
    const kept = (cleaned[name] ?? "").split(delimiter).filter((path) => isAbsolute(path));
    // One without elements would be an empty element.
    if (kept.length > 0) cleaned[name] = kept.join(delimiter);
    else delete cleaned[name];
  }
  return cleaned;
}

/** A language server that runs: its process, and why it ended. */
class Server {
  /** @param {import("node:child_process").ChildProcessWithoutNullStreams} child */
  constructor(child) {
    this.child = child;
    this.said = "";
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text) => {
      this.said = (this.said + text).slice(-KEPT);
    });
    /** @type {Promise<string>} Fulfilled when the server has ended, with the reason in words. */
    this.ended = Promise.all([
      // Not "close", which waits for a standard output that nobody reads any more.
      new Promise((resolve) => {
        child.once("exit", (status, signal) => resolve(signal ?? `status ${status}`));
      }),
      new Promise((resolve) => child.stderr.once("close", resolve)),
    ]).then(([how]) => whyEnded(this.said, how));
  }
}

/**
 * Start the server in the home folder, never in one that is open: nobody may have trusted it.
 *
 * Rejected, with a message for the user, when the command cannot be started.
 * @param {Settings} settings
 * @returns {Promise<Server>}
 */
function start(settings) {
  const { command, words } = commandLine(settings);
  const home = homedir();
  // A folder that is not there would be reported as if the command were missing.
  const cwd = isAbsolute(home) && existsSync(home) ? home : "/";
  const env = environment(process.env);
  return new Promise((resolve, reject) => {
    if (!command) {
      reject(new Error("The setting stapy.command is empty: it names the stapy command."));
      return;
    }
    const child = spawn(command, words, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    // A server that ends at once leaves a pipe that nobody reads: its end tells why.
    child.stdin.on("error", () => {});
    const server = new Server(child);
    child.once("spawn", () => resolve(server));
    child.once("error", (error) => reject(new Error(whyNotStarted(error, command))));
  });
}

/**
 * Say why a command could not be started, and the way out.
 * @param {NodeJS.ErrnoException} error
 * @param {string} command
 */
function whyNotStarted(error, command) {
  const reason =
    error.code === "ENOENT"
      ? "there is no such command"
      : error.code === "EACCES"
        ? "it may not be run"
        : error.message;
  return (
    `stapy could not be started as '${command}': ${reason}. ` +
    "Install stapy, or let the setting stapy.command say where it is."
  );
}

/**
 * Say why a server ended, by what it said itself.
 *
 * `how` is its status or signal, for a server that said nothing.
 * @param {string} said
 * @param {string} how
 */
function whyEnded(said, how) {
  const lines = said.split("\n").filter((line) => line.trim());
  const at = lines.findIndex((line) => /^(?:\w+ )?error\b/i.test(line));
  if (at < 0) {
    const last = lines.at(-1);
    return `stapy's language server has ended (${how})` + (last ? `: ${last.trim()}` : ".");
  }
  // Notes under an error are indented.
  const notes = lines.slice(at + 1).filter((line) => /^\s+=/.test(line));
  const words = [lines[at].replace(/^ERROR: /, ""), ...notes].map((line) =>
    line.replace(/^\s+= (?:note: )?/, ""),
  );
  return `stapy's language server has ended: ${words.join("; ")}`;
}

module.exports = { commandLine, start, whyEnded, whyNotStarted };
