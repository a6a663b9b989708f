// heapprof view, from the command line to the pixels.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
    chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import {
    click, directory, enter, frame, frames, group, heapprof, open, openFile, pixels, rows, start, stop, text, type, write,
} from "./browser.mjs";

const TYPES = [["inuse_objects", "count"], ["inuse_space", "bytes"]];
const KB = 1024;

// main calls cart (of the application) and json (a gem), both call Array#map.
const SHOP = {
    types: TYPES,
    comments: ["interval: 524288 bytes"],
    samples: [
        { stack: [["main", "/srv/app.rb", 1], ["Cart#add", "/srv/cart.rb", 7], ["Array#map", "/srv/cart.rb", 7]],
          values: [10, 600 * KB], labels: { class: "Item", gc_age: [8, "gcs"] } },
        { stack: [["main", "/srv/app.rb", 1], ["Cart#add", "/srv/cart.rb", 9]],
          values: [5, 100 * KB], labels: { class: "String", gc_age: [1, "gcs"] } },
        { stack: [["main", "/srv/app.rb", 2], ["JSON.parse", "/usr/lib/ruby/gems/3.4.0/gems/json-2.9.1/lib/json.rb", 3]],
          values: [85, 300 * KB], labels: { class: "String", owner: "Hash" } },
    ],
};

const FOUND = "rgb(214, 125, 255)";

before(start);
after(stop);

// ---- the command ----

test("view without -o writes a temporary file that only its owner may read, and prints its name", () => {
    const path = heapprof("view", write(SHOP)).trim();
    assert.match(path, new RegExp(`^${directory}/heapprof-.{6}\\.html$`));
    assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("view -o writes there, 0600; -o - to stdout", () => {
    const html = join(directory, "o.html");
    assert.equal(heapprof("view", "-o", html, write(SHOP)), `${html}\n`);
    assert.equal(statSync(html).mode & 0o777, 0o600);
    assert.match(heapprof("view", "-o", "-", write(SHOP)), /^<!doctype html>[^]*Cart#add[^]*<\/html>\n$/);
});

test("view --open asks xdg-open, and says when that fails", () => {
    const bin = join(directory, "bin");
    mkdirSync(bin);
    const tool = join(bin, "xdg-open");
    const path = process.env.PATH;
    const html = join(directory, "opened.html");
    try {
        process.env.PATH = `${bin}:${path}`;
        writeFileSync(tool, `#!/bin/sh\necho "$1" >'${bin}/asked'\n`);
        chmodSync(tool, 0o755);
        heapprof("view", "--open", "-o", html, write(SHOP));
        assert.equal(readFileSync(`${bin}/asked`, "utf8"), `${html}\n`);
        writeFileSync(tool, "#!/bin/sh\nexit 3\n");
        assert.throws(() => heapprof("view", "--open", "-o", html, write(SHOP)),
            { status: 1, stderr: `heapprof view: ${html}: xdg-open could not open it\n` });
    }
    finally {
        process.env.PATH = path;
    }
});

test("view - reads stdin", () => {
    const html = execFileSync(process.env.HEAPPROF, ["view", "-", "-o", "-"], { input: readFileSync(write(SHOP)), encoding: "utf8" });
    assert.match(html, /"name":"stdin"/);
});

test("what is wrong is said in a line, with 1 for a file and 2 for the command line", () => {
    const bad = join(directory, "bad.pb.gz");
    writeFileSync(bad, "no profile");
    const fails = (status, pattern, ...args) => assert.throws(() => heapprof("view", ...args), (error) => {
        assert.equal(error.status, status);
        assert.match(error.stderr, pattern);
        assert.equal(error.stderr.trim().split("\n").length, 1);
        return true;
    });
    fails(1, /bad\.pb\.gz: /, bad);
    fails(1, /No such file/, join(directory, "none"));
    fails(1, /No such file/, write(SHOP), join(directory, "none"));
    fails(1, /^heapprof view: \/none\/x\.html: No such file/, write(SHOP), "-o", "/none/x.html");
    fails(1, /have no kind of value in common/, write(SHOP), "--diff", write({ types: [["inuse_space", "megabytes"]], samples: [] }));
    fails(2, /usage: heapprof view/);
    assert.match(heapprof("view", "--help"), /Examples:/);
});

test("without npm all else is built, and view says what is missing", () => {
    const bin = join(directory, "no-npm");
    mkdirSync(bin);
    const tools = new Map(); // all there are, the first in PATH as the last one entered
    for (const from of process.env.PATH.split(":").filter((path) => existsSync(path)).reverse()) {
        for (const name of readdirSync(from)) tools.set(name, join(from, name));
    }
    tools.delete("npm");
    for (const [name, path] of tools) symlinkSync(path, join(bin, name));
    const made = join(directory, "no-page");
    execFileSync("make", ["-C", "../..", "heapprof", `CLI_PAGE=${made}/page.html`, `CLI_PROGRAM=${made}/heapprof`],
        { env: { PATH: bin }, stdio: "pipe" });
    const run = (...args) => execFileSync(`${made}/heapprof`, args, { encoding: "utf8", stdio: "pipe" });
    assert.throws(() => run("view", write(SHOP)), {
        status: 1,
        stderr: "heapprof view: this heapprof was built without its page, because npm was missing: install npm, and build again\n",
    });
    assert.match(run("top", write(SHOP)), /Cart#add/);
});

// ---- the flame graph ----

test("frames are drawn as wide as what they hold, in their colours", async () => {
    const page = await open(SHOP);
    const all = await frame(page, "all");
    const share = async (name) => (await frame(page, name)).width / all.width;
    assert.ok(Math.abs((await share("main")) - 1) < 1e-6);
    assert.ok(Math.abs((await share("Cart#add")) - 0.7) < 1e-6);
    assert.ok(Math.abs((await share("JSON.parse")) - 0.3) < 1e-6);
    assert.match((await frame(page, "Cart#add")).title, /^Cart#add: 700 kB, 70\.0%, self 100 kB\n\/srv\/cart\.rb$/);

    const counts = await pixels(page, "#flame");
    const seen = Object.values(counts).filter((count) => count > 500).length;
    assert.ok(seen >= 4, `${seen} colours`); // the ground, the root, the application, the gem
    const gem = await page.$eval("#flame g[name='JSON.parse'] rect", (rect) => getComputedStyle(rect).fill);
    assert.ok(counts[gem] > 0.2 * 0.3 * all.width * 20, `${counts[gem]} pixels of ${gem}`);
    await page.verify();
});

test("where the file knows how far a value may be off, that is said", async () => {
    const page = await open({
        types: [["inuse_space", "bytes"], ["inuse_variance", "bytes^2"]],
        samples: [{ stack: ["main", "f"], values: [300 * KB, (30 * KB) ** 2] }, { stack: ["main", "g"], values: [700 * KB, (40 * KB) ** 2] }],
    });
    assert.deepEqual(await page.$$eval("#type option", (options) => options.map((one) => one.textContent)), ["Memory alive"]);
    await type(page, "inuse_space");
    assert.match((await frame(page, "f")).title, /^f: 300 kB ± 60 kB, 30\.0%/);
    assert.match((await frame(page, "main")).title, /^main: 1000 kB ± 100 kB, /);
    await page.verify();
});

test("another kind of value draws other widths", async () => {
    const page = await open(SHOP);
    await type(page, "inuse_objects");
    const all = await frame(page, "all");
    assert.equal(Math.round((100 * (await frame(page, "JSON.parse")).width) / all.width), 85);
    assert.equal(all.title, "all: 100, 100.0%");
    await page.verify();
});

test("a click zooms: the frame is as wide as all, the table has what is below; Reset zooms out", async () => {
    const page = await open(SHOP);
    const whole = (await frame(page, "all")).width;
    await click(page, "Cart#add");
    assert.equal((await frame(page, "Cart#add")).width, whole);
    assert.equal((await frame(page, "main")).faded, true);
    assert.notEqual((await frame(page, "Cart#add")).fill, FOUND);
    assert.equal((await frames(page)).some(({ name }) => name === "JSON.parse"), false);
    await group(page, "class");
    assert.deepEqual(await rows(page), [["600 kB", "60.0%", "Item"], ["100 kB", "10.0%", "String"]]);
    assert.match(await text(page, "#chips"), /below Cart#add/);
    await page.click("#reset");
    assert.deepEqual((await rows(page))[1], ["400 kB", "40.0%", "String"]);
    assert.equal((await frame(page, "Cart#add")).faded, false);
    await page.verify();
});

test("a search colours what it finds, says how much it is, and shortens the table", async () => {
    const page = await open(SHOP);
    await group(page, "function");
    await page.keyboard.press("/");
    await page.keyboard.type("cart\\.rb");
    await page.keyboard.press("Enter");
    assert.equal(await text(page, "#found"), "2 frames, 700 kB, 70.0%");
    assert.equal((await frame(page, "Cart#add")).fill, FOUND);
    assert.notEqual((await frame(page, "JSON.parse")).fill, FOUND);
    assert.deepEqual((await rows(page)).map((row) => row[3].split(" ")[0]), ["Array#map", "Cart#add"]);
    assert.ok((await pixels(page, "#flame"))[FOUND] > 5000);
    await page.verify();
});

test("the keyboard goes from frame to frame, zooms in and out, and what is selected is said", async () => {
    const page = await open(SHOP);
    await page.focus("#flame");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    assert.match(await text(page, "#status"), /^JSON\.parse: 300 kB/);
    assert.deepEqual(await page.$$eval("g.selected", (found) => found.map((one) => one.getAttribute("name"))), ["JSON.parse"]);
    await page.keyboard.press("Enter");
    assert.equal((await frames(page)).some(({ name }) => name === "Cart#add"), false);
    await page.keyboard.press("Escape");
    assert.equal((await frames(page)).some(({ name }) => name === "Cart#add"), true);
    await page.verify();
});

// ---- beside it ----

test("the table groups by function, class, file, gem, line of the application and label", async () => {
    const page = await open(SHOP);
    const first = async (name) => {
        await group(page, name);
        return (await rows(page))[0];
    };
    assert.deepEqual(await first("function"), ["600 kB", "600 kB", "60.0%", "Array#map /srv/cart.rb"]);
    assert.deepEqual(await first("class"), ["600 kB", "60.0%", "Item"]);
    assert.deepEqual(await first("file"), ["700 kB", "700 kB", "70.0%", "/srv/cart.rb"]);
    assert.deepEqual(await first("gem"), ["700 kB", "1000 kB", "70.0%", "(application)"]);
    assert.deepEqual((await rows(page))[1], ["300 kB", "300 kB", "30.0%", "json-2.9.1"]);
    assert.deepEqual(await first("app line"), ["600 kB", "60.0%", "/srv/cart.rb:7 Array#map"]);
    assert.deepEqual(await first("owner"), ["700 kB", "70.0%", "(no owner)"]);
    assert.deepEqual(await first("gc_age"), ["600 kB", "60.0%", "8 gcs"]);
    await page.verify();
});

test("amounts are written as heapprof top writes them", async () => {
    const values = [0.5, 1, 9.99, 9.996, 50.04, 99.96, 512, 1000, 1023.9].flatMap((one) => [1, 1024, 1024 ** 2, 1024 ** 3].map((unit) => Math.round(one * unit)));
    for (const [type, unit] of [["inuse_space", "bytes"], ["cpu", "nanoseconds"], ["inuse_objects", "count"], ["n", "things"]]) {
        const profile = { types: [[type, unit]], samples: values.filter((value) => value > 0).map((value, i) => ({ stack: [`f${i}`], values: [value] })) };
        const page = await open(profile);
        const shown = (await rows(page)).map((row) => row[0]);
        const top = heapprof("top", "--group", "function", "-n", "0", write(profile)).split("\n");
        const printed = top.map((line) => line.match(/^ +(\S+(?: [A-Za-z]+)?)  .*% .* f\d+$/)?.[1]).filter((one) => one);
        assert.deepEqual([...shown].sort(), printed.sort(), unit);
        await page.verify();
    }
});

test("--app says where the application is", async () => {
    const page = await open(SHOP, { options: ["--app", "/elsewhere"] });
    await group(page, "app line");
    assert.deepEqual(await rows(page), [["1000 kB", "100.0%", "(no line of the application)"]]);
    await page.verify();
});

test("a row of the table becomes a filter of all, until its mark is clicked away", async () => {
    const page = await open(SHOP);
    await group(page, "class");
    await page.evaluate(() => [...document.querySelectorAll("#table button")].find((one) => one.textContent === "String").click());
    assert.equal((await frame(page, "all")).title, "all: 400 kB, 100.0%");
    assert.equal((await frames(page)).some(({ name }) => name === "Array#map"), false);
    await page.click("#chips button");
    assert.equal((await frame(page, "all")).title, "all: 1000 kB, 100.0%");
    await page.verify();
});

test("stacks begin with the values of a label, if that is wanted, and a value is a filter", async () => {
    const labels = [{ endpoint: "GET /cart" }, { endpoint: "GET /pay", tenant: "b2b" }, {}];
    const page = await open({ ...SHOP, samples: SHOP.samples.map((sample, i) => ({ ...sample, labels: { ...sample.labels, ...labels[i] } })) });
    assert.deepEqual(await page.$$eval("#root option", (all) => all.map((one) => one.textContent)), ["nothing", "endpoint", "tenant"]);
    await Promise.all([page.waitForNavigation(), page.select("#root", "endpoint")]);
    await page.waitForSelector("html[data-ready]");
    assert.equal((await frame(page, "GET /cart")).title, "GET /cart: 600 kB, 60.0%, self 0 B\n(endpoint)");
    assert.equal((await frame(page, "(no endpoint)")).title, "(no endpoint): 300 kB, 30.0%, self 0 B\n(endpoint)");
    assert.equal((await frame(page, "all")).title, "all: 1000 kB, 100.0%");
    assert.match(await page.evaluate(() => location.hash), /root=endpoint/);
    await group(page, "app line");
    assert.deepEqual((await rows(page))[0], ["600 kB", "60.0%", "/srv/cart.rb:7 Array#map"]);
    await group(page, "endpoint");
    await page.evaluate(() => [...document.querySelectorAll("#table button")].find((one) => one.textContent === "GET /pay").click());
    assert.equal((await frame(page, "all")).title, "all: 100 kB, 100.0%");
    await Promise.all([page.waitForNavigation(), page.select("#root", "")]);
    await page.waitForSelector("html[data-ready]");
    assert.equal((await frames(page)).some(({ name }) => name === "GET /pay"), false);
    assert.equal((await frame(page, "all")).title, "all: 100 kB, 100.0%");
    await page.verify();
    const plain = await open(SHOP);
    assert.equal(await plain.$eval("#roots", (one) => one.hidden), true);
    await plain.verify();
});

test("ages and the rungs of RSS are bars", async () => {
    const rung = (name, value) => ({ stack: [`[VM] ${name}`], values: [0, value], labels: { class: "[VM]" } });
    const page = await open({
        types: [["inuse_space", "bytes"], ["rss_space", "bytes"]],
        samples: [rung("slots", 16 * KB), rung("malloc", 64 * KB), ...SHOP.samples.map((one) => ({ ...one, values: [one.values[1], 0] }))],
    });
    await type(page, "inuse_space");
    assert.equal(await text(page, "#ladder"), "In memory (RSS): 80 kBslots 16 kBmalloc 64 kB");
    assert.equal(await text(page, "#ages"), "By age, in garbage collections survived: 700 kB1 100 kB8 600 kB");
    const widths = await page.$$eval("#ladder .part", (parts) => parts.map((part) => part.getBoundingClientRect().width));
    assert.ok(Math.abs(widths[1] / widths[0] - 4) < 0.1);
    assert.equal(await page.$eval("#ladder .bar", (bar) => bar.getAttribute("aria-label")),
        "In memory (RSS): slots: 16 kB (20.0%), malloc: 64 kB (80.0%)");
    await page.verify();
});

test("the source is shown with what each line holds; --no-sources leaves it out", async () => {
    const path = join(directory, "cart.rb");
    writeFileSync(path, Array.from({ length: 60 }, (_, i) => (i === 29 ? "items << '</script><b>'" : `line_${i + 1}`)).join("\n"));
    const profile = {
        types: TYPES,
        samples: [{ stack: [["main", path, 3], ["Cart#add", path, 30]], values: [1, 40 * KB] }, { stack: [["main", path, 3]], values: [1, 2 * KB] }],
    };
    const page = await open(profile);
    await click(page, "Cart#add");
    const lines = await rows(page, ".source tbody tr");
    assert.deepEqual(lines.find((line) => line[2] === "30"), ["40 kB", "40 kB", "30", "items << '</script><b>'"]);
    assert.deepEqual(lines.map((line) => line[2]).filter(Boolean), ["1", "2", "3", "4", "5", "6", "7", "8",
        "25", "26", "27", "28", "29", "30", "31", "32", "33", "34", "35"]);
    assert.equal(await text(page, ".source .current td:nth-child(3)"), "30");
    await page.verify();

    assert.match(heapprof("view", "-o", "-", write(profile)), /line_29/);
    assert.doesNotMatch(heapprof("view", "--no-sources", "-o", "-", write(profile)), /line_29/);
});

test("what is no source is not read, whatever a profile says", () => {
    const secret = join(directory, "id_rsa");
    writeFileSync(secret, "secret key\n");
    const script = join(directory, "tool");
    writeFileSync(script, "#!/usr/bin/env ruby\nscript line\n");
    const at = (path) => ({ stack: [["f", path, 1]], values: [1, 1] });
    const html = heapprof("view", "-o", "-", write({
        types: TYPES,
        samples: [at(secret), at(script), at("/dev/zero"), at("/etc/passwd"), at(directory), at("/dev/stdin.rb")],
    }));
    assert.doesNotMatch(html, /secret key|root:x:/);
    assert.match(html, /script line/);
});

test("a function chosen in the table is coloured in the flame graph, until it is chosen again", async () => {
    const page = await open(SHOP);
    await group(page, "function");
    const choose = () => page.evaluate(() => document.querySelector("#table td button").click());
    await choose();
    assert.deepEqual((await frames(page)).filter(({ fill }) => fill === FOUND).map(({ name }) => name), ["Array#map"]);
    assert.equal(await text(page, "#source-title"), "Array#map");
    assert.match(await text(page, "#source-lines"), /no source of this file .*: \/srv\/cart\.rb/);
    await choose();
    assert.deepEqual((await frames(page)).filter(({ fill }) => fill === FOUND), []);
    await page.verify();
});

// ---- differences ----

test("what grew is red, what shrank is blue, as wide as the change", async () => {
    const profile = (a, b, age) => ({
        types: TYPES,
        samples: [
            { stack: ["main", "grows"], values: [1, a], labels: { class: "A", gc_age: [age, "gcs"] } },
            { stack: ["main", "shrinks"], values: [1, b], labels: { class: "B" } },
            { stack: ["main", "stays"], values: [1, 5000 * KB], labels: { gc_age: [age, "gcs"] } },
        ],
    });
    const page = await open(profile(900 * KB, 100 * KB, 4), { old: profile(100 * KB, 300 * KB, 2) });
    const [grows, shrinks, all] = [await frame(page, "grows"), await frame(page, "shrinks"), await frame(page, "all")];
    assert.equal(grows.fill, "rgb(255, 96, 80)");
    assert.equal(shrinks.fill, "rgb(119, 167, 251)"); // a quarter of the largest
    assert.equal(Math.round((10 * grows.width) / all.width), 8);
    assert.equal((await frames(page)).some(({ name }) => name === "stays"), false); // it has only aged
    assert.match(grows.title, /^grows: \+800 kB/);
    assert.match((await frame(page, "main")).title, /^main: \+600 kB/);
    const counts = await pixels(page, "#flame");
    assert.ok(counts[grows.fill] > 3 * counts[shrinks.fill] && counts[shrinks.fill] > 500);
    await group(page, "class");
    assert.deepEqual(await rows(page), [["+800 kB", "80.0%", "A"], ["−200 kB", "−20.0%", "B"]]);
    await page.verify();
});

test("a file that is a difference itself is shown like one", async () => {
    const page = await open({ types: TYPES, samples: [{ stack: ["f"], values: [1, -5 * KB] }, { stack: ["g"], values: [1, 15 * KB] }] });
    assert.equal((await frame(page, "f")).fill, "rgb(113, 164, 252)");
    assert.match((await frame(page, "all")).title, /^all: \+10 kB/);
    await page.verify();
});

// ---- anybody's profiles ----

test("hostile names are text", async () => {
    const names = ["</script><script>window.hacked=1</script>", "<img src=x onerror='window.hacked=2'>", "<!--<script>", "a\u2028b\u2029c",
        "&lt;b&gt;", "\"'`\\", "__proto__", "constructor", "javascript:alert(1)", "]]>", "@@DATA@@"];
    const labels = Object.fromEntries(names.map((name, i) => [`${name}${i}`, name]));
    const page = await open({
        types: [[names[0], names[1]], ["inuse_space", names[0]]],
        comments: names,
        samples: [
            ...names.map((name) => ({ stack: [[name, name, 1]], values: [1, KB], labels })),
            { stack: [[Buffer.from([0x66, 0xff, 0xfe, 0x3c])]], values: [1, KB] },
        ],
    });
    const seen = (await frames(page)).map(({ name }) => name);
    for (const name of [...names, "f\\xFF\\xFE<"]) assert.ok(seen.includes(name), name);
    const count = (selector) => page.$$eval(selector, (found) => found.length);
    assert.equal(await count("script"), 2);
    assert.equal(await count("img, iframe, object, b[onclick]"), 0);
    for (let i = 0; i < (await count("#group option")); i++) await page.select("#group", String(i));
    await click(page, names[1]);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await page.verify();
});

test("the page lets nothing in but its own script and style", async () => {
    const html = join(directory, "policy.html");
    heapprof("view", "-o", html, write(SHOP));
    const page = await openFile(html);
    const tried = await page.evaluate(async () => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        const image = new Image();
        image.src = "data:image/png;base64,AAAA";
        const fetched = await fetch("data:,x").then(() => true, () => false);
        return { hacked: "hacked" in window, fetched };
    });
    assert.deepEqual(tried, { hacked: false, fetched: false });
    for (const wanted of ["connect-src", "img-src", "script-src"]) {
        await page.waitForFunction((one) => window.violations.some((violation) => violation.startsWith(one)), {}, wanted);
    }
    await page.close();
});

test("profiles without samples, stacks, labels or lines are shown", async () => {
    const empty = await open({ types: TYPES, samples: [] });
    assert.equal(await empty.$eval("#nothing", (one) => one.hidden), false);
    await empty.verify();
    const bare = await open({ types: [["cpu", "nanoseconds"]], samples: [{ stack: [], values: [7] }, { stack: ["f"], values: [3] }] });
    assert.equal((await frame(bare, "all")).title, "all: 10 ns, 100.0%");
    assert.equal(Math.round((10 * (await frame(bare, "f")).width) / (await frame(bare, "all")).width), 3);
    await bare.verify();
});

// ---- size, surroundings ----

test("of 10,000 functions those that can be seen are drawn, and each is found and zoomed to", async () => {
    const samples = Array.from({ length: 10000 }, (_, i) => ({
        stack: ["main", `module_${i % 100}`, ...Array.from({ length: 10 }, (_, k) => `step_${(i * 7 + k) % 500}`), [`leaf_${i}`, `/srv/${i % 300}.rb`, i]],
        values: [1, 100 + ((i * 7919) % 9973)],
        labels: { class: `Class${i % 50}`, gc_age: [2 ** (i % 7), "gcs"] },
    }));
    const page = await open({ types: TYPES, samples });
    await page.click("#folding");
    const ready = await page.evaluate(() => performance.getEntriesByName("heapprof-ready")[0].startTime);
    console.log(`# 10,000 functions, ${(await frames(page)).length} frames drawn, ready after ${Math.round(ready)} ms`);
    const drawn = await frames(page);
    assert.ok(drawn.length > 100 && drawn.length <= 6100, `${drawn.length} frames`);
    assert.ok(drawn.some(({ name }) => /smaller ones?$/.test(name)));

    await enter(page, "#search", "leaf_7777$");
    assert.equal((await text(page, "#found")).split(",")[0], "1 frame");
    await page.click("#reset");
    await page.click("#folding");
    const before = Date.now();
    await click(page, "module_77");
    console.log(`# zoomed after ${Date.now() - before} ms`);
    const leaves = (await frames(page)).filter(({ name }) => name.startsWith("leaf_"));
    assert.ok(leaves.length > 90 && leaves.length <= 100, `${leaves.length} leaves`);
    await page.verify();
});

test("a stack as deep as can be is drawn", async () => {
    const page = await open({ types: TYPES, samples: [{ stack: Array.from({ length: 6000 }, (_, i) => `f${i % 3}`), values: [1, 1] }] });
    assert.ok((await frames(page)).length > 1000);
    await page.verify();
});

test("in dark surroundings the page is dark", async () => {
    const page = await open(SHOP, { dark: true });
    const counts = await pixels(page, "body");
    const [most] = Object.entries(counts).sort((a, b) => b[1] - a[1])[0];
    assert.equal(most, "rgb(23, 23, 26)");
    await page.verify();
});

test("every control has a name", async () => {
    const page = await open(SHOP);
    const unnamed = await page.$$eval("button, input, select, [tabindex]", (found) =>
        found.filter((one) => !(one.textContent.trim() || one.labels?.length || one.getAttribute("aria-label"))).map((one) => one.outerHTML));
    assert.deepEqual(unnamed, []);
    assert.equal(await page.$eval("html", (html) => html.lang), "en");
    await page.verify();
});
