// open.js - reads profiles with speedscope's own importer, without a browser.
//
//   node open.js RELEASE FILE ...      RELEASE: the npm package's dist/release
//
// Prints of each file its name and the sum of all weights of the view that speedscope opens. A file
// that it refuses is named on stderr with its message, and the exit status is 1.
//
// The release is one script, which shows a page when it has been read. The function that a dropped
// file goes to is in it, and all it needs comes before; so the script is cut off behind that
// function, which is handed out.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const IMPORTER =
  /async function ([\w$]+)\([^)]*\)\{return\(await [\w$]+\)\.importProfilesFromArrayBuffer\([^)]*\)\}/;

// What the script looks at on its way there.
function pretendBrowser() {
  const element = () => ({ style: {} });
  globalThis.window = globalThis;
  globalThis.location = { hash: "", protocol: "http:", href: "http://localhost/" };
  globalThis.navigator ??= { userAgent: "", platform: "" };
  globalThis.document = { createElement: element, head: element(), documentElement: element() };
}

function loadImporter(release) {
  const bundle = fs.readdirSync(release).find((name) => /^speedscope.*\.js$/.test(name));
  const source = fs.readFileSync(path.join(release, bundle), "utf8");
  const found = IMPORTER.exec(source);
  if (!found) throw new Error(`no importer in ${bundle}`);
  const end = found.index + found[0].length;
  vm.runInThisContext(
    `${source.slice(0, end)};globalThis.importer=${found[1]};return;${source.slice(end)}`, { filename: bundle });
  return globalThis.importer;
}

async function open(importer, file) {
  const bytes = new Uint8Array(fs.readFileSync(file));
  const group = await importer(path.basename(file), bytes.buffer);
  if (!group) throw new Error("not understood");
  return group.profiles.reduce((sum, profile) => sum + profile.getTotalWeight(), 0);
}

async function main([release, ...files]) {
  pretendBrowser();
  const importer = loadImporter(release);
  console.log = () => {}; // it tells what format it believes to see
  for (const file of files) {
    try {
      process.stdout.write(`${path.basename(file)} ${await open(importer, file)}\n`);
    } catch (error) {
      console.error(`${file}: ${error.message}`);
      process.exitCode = 1;
    }
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
