#!/usr/bin/env node
// Starts the program for this system, which npm has installed as an optional dependency of
// this package.
"use strict";

const { spawn } = require("node:child_process");

const name = `@mcp-conform/${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "mcp-conform.exe" : "mcp-conform";

let program;
try {
  program = require.resolve(`${name}/${file}`);
} catch {
  console.error(
    `mcp-conform: the package ${name} is not installed.\n` +
      "  It comes with this one unless npm was told to leave optional dependencies out (--no-optional, --omit=optional),\n" +
      "  or there is no program for this system; then build it: go install github.com/mcp-conform/mcp-conform/cmd/mcp-conform@latest",
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// When the program is interrupted, it first ends its servers: wait for it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT") child.kill(signal); // a terminal sends SIGINT to both
  });
}
child.on("error", (error) => {
  console.error(`mcp-conform: ${program} can't be started: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code ?? 4);
  }
});
