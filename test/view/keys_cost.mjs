// keys_cost.mjs - how long the page of a profile of 57,000 functions takes to answer.
//
//     node keys_cost.mjs [FUNCTIONS]       (HEAPPROF and CHROMIUM as for the tests; make bench-view)
//
// For each thing that a user does: the longest task of the page until the next picture, in milliseconds. A key in the search is one
// task, and the search itself another, after the last key.

import { click, group, open, start, stop } from "./browser.mjs";

const FUNCTIONS = Number(process.argv[2] ?? 57000);
const KB = 1024;
const APPLICATION = 40; // functions of it
const GEMS = 120;

// Stacks as those of a Rails server: 30 frames of gems, the application, and gems again.
function profile() {
    const gem = (i) => `/usr/lib/ruby/gems/3.4.0/gems/gem${i % GEMS}-1.2.${i % 7}/lib/gem${i % GEMS}/file_${i % 1500}.rb`;
    const samples = Array.from({ length: FUNCTIONS }, (_, i) => ({
        stack: [
            ["<main>", "/srv/bin/server", 1],
            ...Array.from({ length: 30 }, (_, k) => [`Middleware${k}#call`, gem(k), 10]),
            [`Shop::Part${i % APPLICATION}#act`, `/srv/app/models/part_${i % APPLICATION}.rb`, 1 + (i % 50)],
            ...Array.from({ length: 4 }, (_, k) => [`Gem${(i + k) % GEMS}::Step#run`, gem(i + k), 20]),
            [`Gem${i % GEMS}::Record${i}#load`, gem(i), 7],
        ],
        values: [1, KB + ((i * 7919) % 9973)],
        labels: { class: `Class${i % 500}`, gc_age: [2 ** (i % 7), "gcs"] },
    }));
    return { types: [["inuse_objects", "count"], ["inuse_space", "bytes"]], comments: ["directory: /srv"], samples };
}

async function longest(page, action) {
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)));
    await page.evaluate(() => { window.tasks = []; });
    await action();
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 600)));
    return page.evaluate(() => Math.round(Math.max(0, ...window.tasks)));
}

await start();
const page = await open(profile());
const ready = await page.evaluate(() => Math.round(performance.getEntriesByName("heapprof-ready")[0].startTime));
await page.evaluate(() => {
    window.tasks = [];
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((one) => one.duration)))
        .observe({ type: "longtask" });
});
console.log(`${FUNCTIONS.toLocaleString("en")} functions: ready after ${ready} ms; 0 is below 50 ms`);
const say = async (what, action) => console.log(`${String(await longest(page, action)).padStart(6)} ms  ${what}`);
await say("an arrow key", async () => {
    await page.focus("#flame");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
});
await say("the table by function", () => group(page, "function"));
for (const text of ["R", "Record4", "Record4211#", "load"]) {
    await say(`"${text}" in the search`, async () => {
        await page.$eval("#search", (one) => { one.value = ""; });
        await page.type("#search", text, { delay: 20 });
    });
}
await say("the next one found", () => page.click("#next"));
await say("no search", async () => {
    await page.focus("#search");
    await page.$eval("#search", (one) => { one.value = "x"; });
    await page.keyboard.press("Backspace");
});
await page.click("#reset");
await say("a click that zooms", () => click(page, "Shop::Part7#act"));
await say("zoomed out", () => page.click("#reset"));
await say("the table scrolled to its end", () => page.$eval("#table", (one) => { one.scrollTop = one.scrollHeight; }));
await say("all frames unfolded", () => page.click("#folding"));
await say("callers first", () => page.select("#view", "callers"));
await page.verify();
await stop();
