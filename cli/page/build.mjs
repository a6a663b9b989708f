// build.mjs - makes page.html: the page with its styles and its script inside, and a place for the profile.
//
//     node build.mjs OUT       (in a directory with node_modules; ESM resolves from there)
//
// The policy names the style and the script by their checksums, so nothing else is styled or run,
// and nothing is fetched, whatever a profile has in it.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const out = process.argv[2];
const result = await build({
    entryPoints: ["src/main.js"],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2020",
    charset: "ascii",
    legalComments: "none",
    outdir: "out",
    write: false,
    metafile: true,
});
const text = (extension) => result.outputFiles.find((file) => file.path.endsWith(extension)).text.trim();
const licenses = new Set(Object.keys(result.metafile.inputs)
    .map((file) => file.match(/^node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0])
    .filter((directory) => directory)
    .map((directory) => `${directory.replace("node_modules/", "")}\n\n${readFileSync(`${directory}/LICENSE`, "utf8")}`));
const checksum = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;

const script = text(".js");
const style = text(".css");
if (/<\/(script|style)/i.test(script + style)) throw new Error("the bundle would end its own element");
const notices = [...licenses].join("\n\n");
if (notices.includes("--")) throw new Error("a license would end its comment");
const parts = {
    POLICY: `default-src 'none'; script-src ${checksum(script)}; style-src ${checksum(style)}; base-uri 'none'; form-action 'none'`,
    LICENSES: notices,
    STYLE: style,
    SCRIPT: script,
};
const page = readFileSync("src/page.html", "utf8").replace(/@@(POLICY|LICENSES|STYLE|SCRIPT)@@/g, (_, name) => parts[name]);
writeFileSync(out, page);
