// first.test.mjs - what is seen first of the profile of a Rails server: the application. And how one goes on from there.

import assert from "node:assert/strict";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { click, directory, enter, frame, frames, group, heapprof, open, openFile, rows, start, stop, text, unlabelled, write } from "./browser.mjs";
import { gem, KB, RAILS, TYPES } from "./rails.mjs";

const FOUND = "rgb(214, 125, 255)";

before(start);
after(stop);

const names = async (page) => (await frames(page)).map(({ name }) => name);

test("the first screen, of 1280 x 830, has frames of the application and its five largest lines", async () => {
    const page = await open(RAILS, { width: 1280, height: 830 });
    assert.equal(await page.$eval("#group", (menu) => menu.selectedOptions[0].textContent), "Line of the application");
    const seen = await page.$$eval("#table tbody tr", (found) => found.filter((row) => row.getBoundingClientRect().bottom < innerHeight)
        .map((row) => row.cells[2].querySelector("button").textContent));
    assert.deepEqual(seen.slice(0, 6), ["[VM] interned strings", ...[0, 1, 2, 3, 4].map((i) => `app/models/item${i}.rb:${20 + i}`)]);
    assert.equal(seen.at(-1), "(no line of the application)");
    const places = await page.$$eval("#flame g.frame", (found) => Object.fromEntries(found.map((one) => [one.getAttribute("name"), one.getBoundingClientRect().bottom])));
    for (const name of ["CartsController#show", "Item0.load", "Item4.load"]) assert.ok(places[name] < 830, `${name}: ${places[name]}`);
    await page.verify();
});

test("frames above the application and those of a gem are one frame each, which unfolds by a click or a key, and folds again", async () => {
    const page = await open(RAILS);
    const folded = "40 frames of actionpack, rack and others";
    const all = await names(page);
    assert.ok(all.includes(folded), String(all));
    assert.ok(all.includes("8 frames of activerecord"), String(all));
    assert.equal(all.some((name) => name.startsWith("Rack::")), false);
    const whole = (await frame(page, folded)).width;
    await click(page, folded);
    const unfolded = await frames(page);
    assert.ok(unfolded.some(({ name }) => name === "Rack::M27#call"));
    assert.equal(unfolded.find(({ name }) => name === "<main>").width, whole);
    assert.match(await text(page, "#chips"), /1 unfolded/);
    await page.click("#chips button");
    assert.ok((await names(page)).includes(folded));
    await page.mouse.move(0, 0);
    await page.focus("#flame");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.ok((await names(page)).includes("Rack::M27#call"));
    await page.click("#folding");
    assert.equal((await names(page)).some((name) => / frames of /.test(name)), false);
    await page.verify();
});

test("gems without an application are not folded", async () => {
    const page = await open({ types: TYPES, samples: [{ stack: [gem("a-1.0", "a", "A.one"), gem("a-1.0", "a", "A.two")], values: [1, KB] }] });
    assert.deepEqual(await names(page), ["all", "A.one", "A.two"]);
    assert.equal(await page.$eval("#folds", (one) => one.hidden), true);
    assert.equal(await page.$eval("#group", (menu) => menu.selectedOptions[0].textContent), "Function");
    await page.verify();
});

test("from what allocates, callers are below", async () => {
    const page = await open(RAILS);
    await page.click("#folding");
    await page.select("#view", "callers");
    assert.match((await frame(page, "ActiveRecord::Result0#build")).title, /^ActiveRecord::Result0#build: 900 kB, 9\.4%\n/);
    const y = (name) => page.$$eval("#flame .calls g.frame", (found, wanted) => found.find((one) => one.getAttribute("name") === wanted).getBoundingClientRect().y, name);
    assert.ok((await y("Array#map")) < (await y("Item3.load")));
    await click(page, "Array#map");
    await group(page, "class");
    assert.deepEqual((await rows(page)).map((row) => row.at(-1)), ["Item3", "Item4", "Item5"]);
    assert.match(await text(page, "#chips"), /^allocated by Array#map/);
    await page.verify();
});

test("one function is shown with its callers above and its callees below; a click leads to another one, and back", async () => {
    const page = await open(RAILS);
    await click(page, "CartsController#show");
    await page.click("#source-both");
    const part = (which) => page.$$eval(`#flame .${which} g.frame`, (found) => found.map((one) => one.getAttribute("name")));
    assert.equal((await part("callers"))[0], "CartsController#show");
    assert.ok((await part("callees")).includes("Item0.load"));
    assert.equal((await part("callees")).includes("<main>"), false);
    const y = (which, name) => page.$$eval(`#flame .${which} g.frame`, (found, wanted) => found.find((one) => one.getAttribute("name") === wanted).getBoundingClientRect().y, name);
    assert.ok((await y("callers", "frames above the application")) < (await y("callers", "CartsController#show")));
    await group(page, "class");
    assert.equal((await rows(page)).some((row) => row.at(-1) === "Thread"), false);
    await page.evaluate(() => [...document.querySelectorAll("#flame .callees g.frame")].find((one) => one.getAttribute("name") === "Item0.load")
        .dispatchEvent(new MouseEvent("click", { bubbles: true })));
    assert.equal((await part("callers"))[0], "Item0.load");
    await page.goBack();
    assert.equal((await part("callers"))[0], "CartsController#show");
    await page.verify();
});

test("a search finds what is folded: the fold opens, the frame is scrolled to, and Enter leads to the next one", async () => {
    const page = await open(RAILS, { height: 500 });
    await enter(page, "#search", "Rack::M(3|27)#call");
    assert.match(await text(page, "#found"), /^2 frames, /);
    const marked = async () => page.$$eval("#flame g.selected", (found) => found.map((one) => {
        const box = one.getBoundingClientRect(), around = document.querySelector("#flame").getBoundingClientRect();
        return [one.getAttribute("name"), one.querySelector("rect").getAttribute("fill"), box.top >= around.top - 1 && box.bottom <= around.bottom + 1];
    }));
    assert.deepEqual(await marked(), [["Rack::M3#call", FOUND, true]]);
    await page.focus("#search");
    await page.keyboard.press("Enter");
    assert.deepEqual(await marked(), [["Rack::M27#call", FOUND, true]]);
    await page.click("#next");
    assert.deepEqual(await marked(), [["Rack::M3#call", FOUND, true]]);
    await page.click("#reset");
    assert.equal((await names(page)).some((name) => name.startsWith("Rack::")), false);
    await page.verify();
});

test("the search waits for the last key", async () => {
    const page = await open(RAILS);
    const draws = await page.evaluate(async () => {
        let count = 0;
        new MutationObserver(() => { count++; }).observe(document.querySelector("#found"), { childList: true });
        const field = document.querySelector("#search");
        for (const value of ["I", "It", "Ite", "Item"]) {
            field.value = value;
            field.dispatchEvent(new Event("input"));
        }
        await new Promise((resolve) => new MutationObserver(resolve).observe(document.querySelector("#found"), { childList: true }));
        return count;
    });
    assert.equal(draws, 1);
    assert.match(await text(page, "#found"), /^6 frames, /);
    await page.verify();
});

test("the address has what is shown, and shows it again", async () => {
    const html = join(directory, "address.html");
    heapprof("view", write(RAILS), "-o", html);
    let page = await openFile(html);
    await page.select("#type", "0");
    await group(page, "class");
    await page.evaluate(() => [...document.querySelectorAll("#table td button")].find((one) => one.textContent === "Item1").click());
    await click(page, "CartsController#show");
    await enter(page, "#search", "Item1");
    const at = await page.evaluate(() => location.hash);
    const drawn = async () => (await frames(page)).sort((a, b) => (a.name < b.name ? -1 : 1));
    const shown = async () => [await rows(page), await drawn(), await text(page, "#chips"), await text(page, "#found"), await page.$eval("#search", (one) => one.value)];
    const before = await shown();
    await page.verify();
    page = await openFile(html, { at });
    assert.deepEqual(await shown(), before);
    await page.verify();
    page = await openFile(html, { at: "#type=none&by=none&zoom=7.x.-9&open=99999999&focus=1e9&source=-1&filter=class:none&filter=&view=function" });
    assert.ok((await names(page)).includes("CartsController#show"));
    await page.verify();
});

test("of 5,000 rows all are in the table, as far as one scrolls, in 420 pixels too", async () => {
    const samples = Array.from({ length: 5000 }, (_, i) => ({ stack: ["main"], values: [1, (i + 1) * KB], labels: { class: `Shop::Very::Long::Name::Of::A::Class${i}` } }));
    const page = await open({ types: TYPES, samples }, { width: 420, height: 800 });
    await group(page, "class");
    assert.equal(await page.$eval("#table table", (one) => one.getAttribute("aria-rowcount")), "5001");
    assert.ok((await rows(page)).length < 1000);
    await page.$eval("#table", (one) => { one.scrollTop = one.scrollHeight; });
    await page.waitForFunction(() => [...document.querySelectorAll("#table button")].some((one) => one.textContent === "Shop::Very::Long::Name::Of::A::Class0"));
    const last = await page.$$eval("#table tr[aria-rowindex]", (found) => Number(found.at(-1).getAttribute("aria-rowindex")));
    assert.equal(last, 5001);
    assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [420, 420]);
    await page.verify();
});

test("names wrap after :: and /", async () => {
    const page = await open(RAILS);
    await group(page, "file");
    assert.ok(await page.$$eval("#table td button", (found) => found.some((one) => one.querySelectorAll("wbr").length >= 2)));
    await page.verify();
});

test("a row, and the stack of a frame, are copied", async () => {
    const page = await open(RAILS);
    await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
    await page.evaluate(() => document.querySelectorAll("#table .copy")[1].click());
    assert.equal(await page.evaluate(() => window.copied), "900 kB\t9.4%\tapp/models/item0.rb:20\tItem0.load /srv/shop/app/models/item0.rb:20");
    await page.waitForFunction(() => document.querySelector("#copied").textContent === "Copied the row.");
    await page.focus("#flame");
    for (const key of ["Escape", "ArrowDown", "ArrowDown", "ArrowDown", "c"]) await page.keyboard.press(key);
    assert.match(await page.evaluate(() => window.copied), /^\/srv\/shop\/app\/models\/item0\.rb: Item0\.load\n\/srv\/shop\/app\/controllers\/carts_controller\.rb: CartsController#show\n40 frames of /);
    await page.verify();
});

test("the table is saved as CSV, all of it", async () => {
    const page = await open(RAILS);
    const client = await page.createCDPSession();
    await client.send("Page.setDownloadBehavior", { behavior: "allow", downloadPath: directory });
    await page.click("#save");
    const saved = () => readdirSync(directory).find((name) => name.endsWith("-app-line.csv"));
    for (let i = 0; i < 200 && !saved(); i++) await new Promise((resolve) => setTimeout(resolve, 50));
    const lines = readFileSync(join(directory, saved()), "utf8").trimEnd().split("\r\n");
    rmSync(join(directory, saved()));
    assert.equal(lines[0], "held,name,where");
    assert.equal(lines[2], `${900 * KB},app/models/item0.rb:20,Item0.load /srv/shop/app/models/item0.rb:20`);
    assert.equal(lines.length, 1 + (await rows(page)).length);
    await page.verify();
});

test("kinds of value and groups have names that people know, and those of the file as tooltips", async () => {
    const page = await open({ types: [["alloc_space", "bytes"], ["inuse_malloc_space", "bytes"], ["inuse_space", "bytes"], ["odd", "things"]],
        samples: [{ stack: ["f"], values: [1, 2, 3, 4], labels: { gc_age: [1, "gcs"], tenant: "a" } }] });
    const options = (menu) => page.$$eval(`${menu} option`, (found) => found.map((one) => [one.textContent, one.title]));
    assert.deepEqual(await options("#type"), [["Memory alive", "inuse_space"], ["– of it malloc", "inuse_malloc_space"], ["Memory allocated so far", "alloc_space"], ["odd", "odd"]]);
    assert.deepEqual((await options("#group")).slice(-2), [["Age (collections survived)", "gc_age"], ["tenant", "tenant"]]);
    await page.verify();
});

test("a profile that shows nothing or little says why, and what to do", async () => {
    const said = async (profile, extra) => {
        const page = await open(profile, extra);
        const what = await page.$eval("#nothing", (one) => (one.hidden ? "" : one.textContent));
        await page.verify();
        return what;
    };
    const comments = ["interval: 524288 bytes", "samples: 3 live of 9 taken"];
    assert.match(await said({ types: TYPES, comments, samples: [] }), /has no samples\. It has one sample for every 512 kB.*heapprof run --interval=4k/);
    assert.match(await said({ types: TYPES, comments, samples: [{ stack: ["f"], values: [3, 3 * KB] }] }), /^Only 3 samples are alive, .*rough/);
    assert.match(await said({ types: TYPES, comments, samples: [{ stack: ["f"], values: [3, 0] }] }), /nothing of “Memory alive”\. It has: Objects alive\./);
    assert.match(await said({ types: TYPES, samples: [] }, { old: { types: TYPES, samples: [] } }), /^Nothing has changed between the two profiles/);
    assert.equal(await said(RAILS), "");
});

test("thirteen parts of a bar have colours of their own", async () => {
    const samples = Array.from({ length: 13 }, (_, i) => ({ stack: [`[VM] part ${i}`], values: [0, (i + 1) * KB] }));
    const page = await open({ types: [["inuse_space", "bytes"], ["rss_space", "bytes"]], samples: [...samples, { stack: ["f"], values: [1, 0] }] });
    const colours = await page.$$eval("#ladder .part", (found) => found.map((one) => getComputedStyle(one).backgroundColor));
    assert.equal(new Set(colours).size, 13);
    await page.verify();
});

test("of a difference the colours have a scale of amounts", async () => {
    const one = (kb) => ({ types: TYPES, samples: [{ stack: ["main", "f"], values: [1, kb * KB] }] });
    const page = await open(one(1001), { old: one(1) });
    assert.equal(await text(page, "#scale"), "−1000 kB−100 kB−10 kB+10 kB+100 kB+1000 kB");
    const [, , , , , most] = await page.$$eval("#scale .step", (found) => found.map((step) => step.style.background));
    assert.equal((await frame(page, "f")).fill, most);
    await page.verify();
});

test("axe-core finds no fault in the page, light or dark, wide or narrow, in any view", async () => {
    for (const look of [{}, { dark: true }, { width: 420, height: 800 }]) {
        const page = await open(RAILS, look);
        assert.deepEqual(await unlabelled(page), []);
        for (const view of ["callers", "function"]) await page.select("#view", view);
        await enter(page, "#search", "Item");
        assert.deepEqual(await unlabelled(page), []);
        assert.deepEqual(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
        await page.verify();
    }
});
