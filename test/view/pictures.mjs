// pictures.mjs - the pictures of doc/pictures.md: parts of the page, of the profiles that a server's processes have left.
//
//     node pictures.mjs DIRECTORY OUT       (DIRECTORY/*.pb.gz; OUT/NAME.png)

import { readdirSync } from "node:fs";
import { join } from "node:path";

import { click, directory, group, heapprof, openFile, start, stop } from "./browser.mjs";

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

async function open(width, height, ...files) {
    const html = join(directory, "page.html");
    heapprof("view", ...files, "-o", html);
    const page = await openFile(html);
    await page.setViewport({ width, height });
    return page;
}

const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

async function picture(page, selector, name) {
    await drawn(page);
    await (await page.$(selector)).screenshot({ path: join(out, `${name}.png`) });
}

// Below a stack of Rails: zoomed into the function, and what it calls.
async function pictureBelow(page, name, file) {
    await click(page, name);
    await drawn(page);
    const clip = await page.evaluate((wanted) => {
        const found = [...document.querySelectorAll("#flame g.frame")].filter((frame) => frame.getAttribute("name") === wanted);
        const boxes = found.map((frame) => frame.getBoundingClientRect()).sort((a, b) => b.width - a.width);
        const graph = document.querySelector("#graph").getBoundingClientRect();
        return { x: graph.x, y: boxes[0].y - 2 * boxes[0].height, width: graph.width, height: 14 * boxes[0].height };
    }, name);
    await page.screenshot({ path: join(out, `${file}.png`), clip });
}

await start();
const [first, last] = firstAndLast();

let page = await open(1400, 700, last);
await picture(page, "#bars", "rss");
await group(page, "class");
await picture(page, "#side", "classes");
await page.verify();

page = await open(1400, 3000, last);
await pictureBelow(page, "ActionController::BasicImplicitRender#send_action", "flame");
await page.verify();

page = await open(1400, 3000, last, first);
await pictureBelow(page, "ActionController::BasicImplicitRender#send_action", "difference");
await page.verify();
await stop();
