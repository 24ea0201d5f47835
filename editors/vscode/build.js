"use strict";
// Makes dist/extension.js, which has all that it needs but the editor's own module, and LICENSE.

const { copyFileSync } = require("node:fs");
const { join } = require("node:path");
const { buildSync } = require("esbuild");

buildSync({
  absWorkingDir: __dirname,
  entryPoints: ["src/extension.js"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  platform: "node",
  target: "node18",
  external: ["vscode"],
  legalComments: "inline",
  logLevel: "warning",
});
copyFileSync(join(__dirname, "../../COPYING"), join(__dirname, "LICENSE"));
