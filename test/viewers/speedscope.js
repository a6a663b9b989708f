// speedscope.js - opens profiles with speedscope's own importer, without a browser.
//
//   node speedscope.js PACKAGE FILE...      PACKAGE: the directory of npm's speedscope
//
// Prints a line a file: its name, frames, samples' total weight in speedscope's unit. A file that
// speedscope refuses is "FILE: refused: why" on stderr, and the exit status is 1.
//
// The released program is one script that starts a page. Its importer has no name outside. So the
// script is read as text, the name its pprof importer has in there is found by the words that are
// logged beside it, and instead of starting the page the script hands that function over.
"use strict";

const fs = require("fs");
const path = require("path");
const vm = require("vm");
const zlib = require("zlib");

// Something that is anything: what the script does with a page before it is started.
function anything() {
  const target = function () {};
  return new Proxy(target, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === Symbol.iterator ? undefined : anything()),
    set: () => true,
    apply: () => anything(),
    construct: () => anything(),
  });
}

function importer(directory) {
  const release = path.join(directory, "dist", "release");
  const name = fs.readdirSync(release).find((file) => /^speedscope-.*\.js$/.test(file));
  if (!name) throw new Error(`no script in ${release}`);
  const text = fs.readFileSync(path.join(release, name), "utf8");
  const called = /let (\w+)=([\w$]+)\((\w+)\);if\(\1\)return console\.log\("Importing as protobuf encoded pprof file"\)/.exec(text);
  const start = text.lastIndexOf("console.log(`speedscope v");
  // Its module, with the format's decoder in it, is set up by the function that follows it.
  const setUp = called && new RegExp(`function ${called[2]}\\(.*?;?var [\\w$,]+,([\\w$]+)=\\w+\\(\\(\\)=>`, "s").exec(text);
  if (!setUp || start < 0) throw new Error(`${name} is not as this script knows it`);

  const page = { console, TextDecoder, TextEncoder, setTimeout, clearTimeout, handOver: null };
  page.window = page.self = page;
  page.location = { hash: "", href: "" };
  for (const global of ["document", "navigator", "localStorage"]) page[global] = anything();
  for (const global of ["addEventListener", "requestAnimationFrame", "matchMedia"]) page[global] = () => anything();
  vm.runInNewContext(`${text.slice(0, start)}handOver=(${setUp[1]}(),${called[2]});})();`, page, { filename: name });
  return page.handOver;
}

function open(importPprof, file) {
  const packed = fs.readFileSync(file);
  const bytes = packed[0] === 0x1f && packed[1] === 0x8b ? zlib.gunzipSync(packed) : packed;
  const profile = importPprof(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  if (!profile) throw new Error("not known to be pprof");
  let frames = 0;
  profile.forEachFrame(() => frames++);
  return `${file}: ${frames} frames, ${profile.getTotalWeight()} ${profile.getWeightUnit()}`;
}

const [directory, ...files] = process.argv.slice(2);
const importPprof = importer(directory);
for (const file of files) {
  try {
    console.log(open(importPprof, file));
  } catch (error) {
    console.error(`${file}: refused: ${error.message}`);
    process.exitCode = 1;
  }
}
