// screenshot.mjs - a picture of the page of a profile.
//
//     node screenshot.mjs PROFILE OUT.png

import { join } from "node:path";

import { directory, group, heapprof, openFile, start, stop } from "./browser.mjs";

const [profile, out] = process.argv.slice(2);
const html = join(directory, "page.html");

await start();
heapprof("view", profile, "-o", html);
const page = await openFile(html);
await page.setViewport({ width: 1280, height: 830 });
await group(page, "class");
await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
await page.screenshot({ path: out });
await page.verify();
await stop();
