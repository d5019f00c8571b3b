// Runs a WASI program with Node.js in the current directory: node run.mjs PROGRAM.wasm ARGUMENT..
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

process.removeAllListeners("warning");
const [program, ...rest] = process.argv.slice(2);
const args = [program.replace(/\.wasm$/, ""), ...rest];
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens: { ".": ".", "/": "/" } });
const module = new WebAssembly.Module(readFileSync(program));
process.exit(wasi.start(new WebAssembly.Instance(module, wasi.getImportObject())));
