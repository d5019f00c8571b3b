// The viewer: files that are dropped here are read, compared or linked by culd itself, compiled to WebAssembly. Nothing leaves the page.
"use strict";
window.culdReader = (start) => {
  const binary = (text) => {
    const raw = atob(text);
    const out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) out[i] = raw.charCodeAt(i);
    return out;
  };
  const inflate = async (packed) => new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  const ready = inflate(binary(window.culdModule)).then((code) => WebAssembly.instantiate(code, {})).then((made) => made.instance.exports);

  async function read(files) {
    const culd = await ready;
    const put = (bytes) => {
      const at = culd.culd_memory(bytes.length) >>> 0;
      new Uint8Array(culd.memory.buffer, at, bytes.length).set(bytes);
      return at;
    };
    const taken = (place) => new Uint8Array(culd.memory.buffer, Number(place >> 32n), Number(place & 0xffffffffn));
    culd.culd_clear();
    const seen = new Map();
    for (const file of files) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const again = seen.get(file.name) || 0;
      seen.set(file.name, again + 1);
      const name = new TextEncoder().encode(again ? `${file.name} (${again + 1})` : file.name);
      const [n, c] = [put(name), put(bytes)];
      culd.culd_add(n, name.length, c, bytes.length);
    }
    const kinds = BigInt.asUintN(64, culd.culd_kinds());
    const [relocatable, linked] = [Number(kinds >> 32n), Number(kinds & 0xffffffffn)];
    // Two files are compared, unless they are parts of one program: objects that are not linked yet.
    const links = files.length > 1 && relocatable > 0 && linked === 0 && !document.getElementById("compare").checked;
    const compares = files.length === 2 && !links;
    const place = BigInt.asUintN(64, links ? culd.culd_link() : compares ? culd.culd_compare() : culd.culd_show());
    const report = JSON.parse(new TextDecoder().decode(taken(place)));
    if (links) {
      const image = taken(BigInt.asUintN(64, culd.culd_image()));
      if (image.length) window.culdImage = image.slice();
    }
    return report;
  }

  const problem = document.createElement("p");
  problem.className = "problem";
  problem.setAttribute("role", "alert");
  async function use(files) {
    if (!files.length) return;
    problem.textContent = "";
    try {
      start(await read([...files]));
    } catch (error) {
      problem.textContent = `These files cannot be shown: ${error.message || error}`;
    }
  }
  window.culdUse = use;

  const zone = document.createElement("div");
  zone.className = "drop";
  zone.innerHTML = `<h1>See device code</h1>
    <p>Drop a cubin, fat binary, object, archive or executable here: its kernels, sizes, registers and occupancy.<br>
    Two linked files: what grew. Several objects: link them and see the result.</p>
    <p><label><button type="button" id="choose">Choose files</button></label> <label><input type="checkbox" id="compare"> compare two objects instead of linking them</label></p>
    <p>Files are read by this page alone; nothing is sent anywhere.</p>`;
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.id = "files";
  input.style.display = "none";
  input.addEventListener("change", () => use(input.files));
  const main = document.getElementById("main");
  main.replaceChildren(zone, input, problem);
  document.getElementById("choose").addEventListener("click", () => input.click());
  document.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  document.addEventListener("dragleave", () => zone.classList.remove("over"));
  document.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); use(event.dataTransfer.files); });
};
