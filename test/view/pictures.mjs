// pictures.mjs - the pictures of README.md and doc/pictures.md: the page, and parts of it, of the profiles that a server's processes
// have left.
//
//     node pictures.mjs DIRECTORY OUT       (DIRECTORY/*.pb.gz; OUT/view.png, OUT/pictures/NAME.png)

import { readdirSync } from "node:fs";
import { join } from "node:path";

import { directory, group, heapprof, openFile, start, stop } from "./browser.mjs";

const [profiles, out] = process.argv.slice(2);

// The first and the last file of the worker that has the largest.
function firstAndLast() {
    const files = readdirSync(profiles).filter((name) => name.endsWith(".pb.gz")).map((name) => {
        const info = JSON.parse(heapprof("info", "--json", join(profiles, name)));
        const pid = info.comments.find((comment) => comment.startsWith("pid: "));
        return { path: join(profiles, name), pid, time: info.time_ns, size: info.values.find((value) => value.type === "inuse_space").total };
    });
    const { pid } = files.reduce((most, file) => (file.size > most.size ? file : most));
    const own = files.filter((file) => file.pid === pid).sort((a, b) => a.time - b.time);
    return [own[0].path, own.at(-1).path];
}

async function open(width, height, ...words) {
    const html = join(directory, "page.html");
    heapprof("view", ...words, "-o", html);
    const page = await openFile(html);
    await page.setViewport({ width, height });
    return page;
}

const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

async function picture(page, selector, name) {
    await drawn(page);
    await (await page.$(selector)).screenshot({ path: join(out, "pictures", `${name}.png`) });
}

await start();
const [first, last] = firstAndLast();

let page = await open(1280, 830, last);
await drawn(page);
await page.screenshot({ path: join(out, "view.png") });
await picture(page, "#flame", "flame");
await picture(page, "#side", "lines");
await picture(page, "#bars", "rss");
await group(page, "class");
await picture(page, "#side", "classes");
await page.select("#view", "callers");
await picture(page, "#flame", "callers");
await page.verify();

page = await open(1280, 830, "--diff", first, last);
await picture(page, "#flame", "difference");
await page.verify();
await stop();
