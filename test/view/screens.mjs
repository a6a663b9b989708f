// screens.mjs - pictures of whole pages, to be looked at: light, dark, and on a telephone.
//
//     node screens.mjs OUT [FILE...]       (make screens SCREENS='FILE...'; without FILE a profile of rails.mjs)
//
// FILE: a profile, two of them, or dumps of the object graph, as `heapprof view` and `heapprof graph view` take them.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { directory, heapprof, openFile, start, stop, write } from "./browser.mjs";
import { EARLIER, RAILS } from "./rails.mjs";

const [out, ...files] = process.argv.slice(2);
const LOOKS = [["light", { width: 1280, height: 830 }], ["dark", { width: 1280, height: 830, dark: true }], ["narrow", { width: 420, height: 830 }]];

async function shoot(name, look, words, at = "") {
    const html = join(directory, `${name}.html`);
    heapprof(...words, "-o", html);
    const page = await openFile(html, { ...look, at });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await page.screenshot({ path: join(out, `${name}.png`) });
    console.log(join(out, `${name}.png`));
    await page.verify();
}

mkdirSync(out, { recursive: true });
await start();
const command = files.some((file) => file.endsWith("graph")) ? ["graph", "view"] : ["view"];
const words = files.length > 0 ? [...command, ...files] : ["view", write(RAILS)];
for (const [name, look] of LOOKS) await shoot(name, look, words);
if (command.length === 1) {
    await shoot("callers", LOOKS[0][1], words, "#view=callers");
    await shoot("unfolded", LOOKS[0][1], words, "#fold=no");
    await shoot("function", LOOKS[0][1], words, "#view=function&focus=0&source=0");
}
if (files.length === 0) await shoot("difference", LOOKS[0][1], ["view", "--diff", write(EARLIER), write(RAILS)]);
await stop();
