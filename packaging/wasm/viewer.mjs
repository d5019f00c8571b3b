// Links files with the module inside of a viewer page, as the page does: node viewer.mjs PAGE OUTPUT INPUT..
//
// 1. The module is the text of `window.culdModule`: base64 of what gzip packed.
// 2. It has no imports: it cannot reach files or the network.
// 3. The linked file is written to OUTPUT; title and status of its description are printed.
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { gunzipSync } from "node:zlib";

const [page, output, ...inputs] = process.argv.slice(2);
const packed = /window\.culdModule = "([A-Za-z0-9+/=]+)";/.exec(readFileSync(page, "utf8"));
if (!packed) throw new Error(`${page} has no module`);
const module = new WebAssembly.Module(gunzipSync(Buffer.from(packed[1], "base64")));
const imports = WebAssembly.Module.imports(module);
if (imports.length) throw new Error(`the module has ${imports.length} imports`);
const culd = new WebAssembly.Instance(module, {}).exports;

const put = (bytes) => {
    const at = culd.culd_memory(bytes.length) >>> 0;
    new Uint8Array(culd.memory.buffer, at, bytes.length).set(bytes);
    return at;
};
const taken = (answer) => {
    const place = BigInt.asUintN(64, answer);
    return new Uint8Array(culd.memory.buffer, Number(place >> 32n), Number(place & 0xffffffffn)).slice();
};
for (const input of inputs) {
    const [name, bytes] = [new TextEncoder().encode(basename(input)), readFileSync(input)];
    const [n, c] = [put(name), put(bytes)];
    culd.culd_add(n, name.length, c, bytes.length);
}
const report = JSON.parse(new TextDecoder().decode(taken(culd.culd_link())));
writeFileSync(output, taken(culd.culd_image()));
console.log(`${report.title}: ${report.status}`);
