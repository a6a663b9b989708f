// keys_cost.mjs - how long the page of a profile of 57,000 functions takes to answer.
//
//     node keys_cost.mjs [FUNCTIONS]       (HEAPPROF and CHROMIUM as for the tests; make bench-view)
//
// For each thing that a user does: the CPU time of the page's main thread until it is at rest, in milliseconds, with layout and
// drawing. So it does not depend on what else the machine does. A key in the search counts with the search that follows it.

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

const rest = () => new Promise((resolve) => setTimeout(resolve, 1500));

async function say(what, action) {
    const spent = async () => {
        await rest();
        const { metrics } = await client.send("Performance.getMetrics");
        return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
    };
    const before = await spent();
    await action();
    console.log(`${String(Math.round(await spent() - before)).padStart(6)} ms  ${what}`);
}

// The last key of a text, after the others.
async function lastKey(text) {
    await page.$eval("#search", (one, value) => {
        one.value = value;
        one.dispatchEvent(new Event("input"));
    }, text.slice(0, -1));
    await rest();
    await page.focus("#search");
    await page.keyboard.press("End");
    await say(`"${text.at(-1)}" of "${text}" in the search`, () => page.keyboard.press(text.at(-1)));
}

await start();
const page = await open(profile());
const ready = await page.evaluate(() => Math.round(performance.getEntriesByName("heapprof-ready")[0].startTime));
const client = await page.createCDPSession();
await client.send("Performance.enable", { timeDomain: "threadTicks" });
console.log(`${FUNCTIONS.toLocaleString("en")} functions: ready after ${ready} ms`);
await page.focus("#flame");
await say("an arrow key", () => page.keyboard.press("ArrowDown"));
await say("the table by function", () => group(page, "function"));
for (const text of ["R", "Record4", "Record4211#", "load"]) await lastKey(text);
await say("the next one found", () => page.click("#next"));
await say("the search emptied", () => page.$eval("#search", (one) => {
    one.value = "";
    one.dispatchEvent(new Event("input"));
}));
await page.click("#reset");
await say("a click that zooms", () => click(page, "Shop::Part7#act"));
await say("zoomed out", () => page.click("#reset"));
await say("the table scrolled to its end", () => page.$eval("#table", (one) => { one.scrollTop = one.scrollHeight; }));
await say("all frames unfolded", () => page.click("#folding"));
for (const text of ["R", "Record4"]) await lastKey(text);
await say("callers first", () => page.select("#view", "callers"));
await page.verify();
await stop();
