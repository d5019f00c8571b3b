// Runs a WASI program with Node.js in the current directory: node run.mjs PROGRAM.wasm ARGUMENT..
//
// The root of the program is the current directory, so that relative paths are found; directories of the system's root are where they are.
import { readdirSync, readFileSync } from "node:fs";
import { WASI } from "node:wasi";

process.removeAllListeners("warning");
const [program, ...rest] = process.argv.slice(2);
const args = [program.replace(/\.wasm$/, ""), ...rest];
const preopens = { "/": "." };
for (const entry of readdirSync("/", { withFileTypes: true })) {
    if (entry.isDirectory()) preopens[`/${entry.name}`] = `/${entry.name}`;
}
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens });
const module = new WebAssembly.Module(readFileSync(program));
process.exit(wasi.start(new WebAssembly.Instance(module, wasi.getImportObject())));
