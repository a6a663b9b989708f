// graph_view.test.mjs - heapprof graph view, from the command line to what is seen, on dumps that are made here.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { formatChange, formatValue } from "./page/format.js";
import { parseQuery } from "./page/query.js";
import { click, directory, enter, frame, frames, group, heapprof, openFile, rows, start, stop, text, unlabelled } from "./browser.mjs";

const top = join(dirname(process.env.HEAPPROF), "../..");
const KB = 1024;
let shop;

// A dump that a program in Ruby makes: graph is test/cli/lib/graph_bytes.rb's.
function dump(name, program) {
    const path = join(directory, `${name}.graph`);
    const script = `require ARGV[0]; graph = GraphBytes.new\n${program}\nFile.binwrite(ARGV[1], graph.bytes)`;
    execFileSync(process.env.BASERUBY || "ruby", ["-e", script, join(top, "test/cli/lib/graph_bytes.rb"), path]);
    return path;
}

function view(path, ...options) {
    const html = `${path}.html`;
    heapprof("graph", "view", path, "-o", html, ...options);
    return openFile(html);
}

function viewDifference(paths, ...options) {
    const html = `${paths.at(-1)}.difference.html`;
    heapprof("graph", "view", ...paths, "-o", html, ...options);
    return openFile(html);
}

// The rows below a heading of the object that is shown.
async function references(page, title) {
    const tables = await page.$$eval("#object h3", (heads) => heads.map((head) => [head.textContent,
        head.nextElementSibling?.tagName === "TABLE" ? [...head.nextElementSibling.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)) : [],
        head.nextElementSibling?.nextElementSibling?.textContent]));
    const found = tables.find(([head]) => head.startsWith(title)) ?? assert.fail(`${title} of ${tables.map(([head]) => head)}`);
    return { rows: found[1], more: found[2] };
}

const choose = (page, selector, wanted) => page.evaluate((where, what) =>
    [...document.querySelectorAll(where)].find((one) => one.textContent.includes(what)).click(), selector, wanted);

// Cart::CACHE keeps 404 KB of orders in a Hash of 1 MB; $list a list; one object is garbage.
before(async () => {
    await start();
    shop = dump("shop", `
        object, cart, cache, items = Array.new(4) { graph.later }
        graph.object("Class", 512, type: "T_CLASS", at: object, text: "Object", others: { [:CONSTANT, "Cart"] => cart })
        graph.object("Class", 512, type: "T_CLASS", at: cart, text: "Cart", others: { [:CONSTANT, "CACHE"] => cache })
        graph.object("Cart", 1024, at: cache, class_of: cart, bits: 3 | 128, labels: { [:IVAR, "@items"] => items })
        stack = graph.stack(":0 Array#push", "/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>")
        orders = Array.new(400) { |i| graph.object("Order", i == 7 ? 5120 : 1024, stack: stack) }
        graph.object("Hash", 1 << 20, type: "T_HASH", at: items, tail: orders.each_with_index.map { |order, i| [graph.integer(i), order] })
        nodes = Array.new(100) { graph.later }
        nodes.each_cons(2) { |one, other| graph.object("Node", 1024, at: one, labels: { [:IVAR, "@next"] => other }) }
        graph.object("Node", 1024, at: nodes.last)
        graph.root(:C_GLOBAL, "rb_cObject", object)
        graph.root(:GLOBAL, "$list", nodes[0])
        graph.object("Garbage", 2048)
        graph.fact("pid", "42")`);
});
after(stop);

const ALIVE = 1530; // KB: of two classes, the cart, the hash, 400 orders, 100 nodes

test("the page is written as that of heapprof view is: 0600, to stdout, or with what is wrong", () => {
    const html = join(directory, "mode.html");
    assert.equal(heapprof("graph", "view", shop, "-o", html), `${html}\n`);
    assert.equal(statSync(html).mode & 0o777, 0o600);
    assert.match(heapprof("graph", "view", shop, "-o", "-"), /^<!doctype html>[^]*"kind":"graph"[^]*<\/html>\n$/);
    const fails = (status, pattern, ...args) => assert.throws(() => heapprof("graph", "view", ...args), (error) => {
        assert.equal(error.status, status);
        assert.match(error.stderr, pattern);
        return true;
    });
    fails(1, /No such file/, join(directory, "none"));
    fails(2, /--count=10001: give at most 10000/, shop, "-n", "10001");
    fails(2, /--count/, shop, "-n", "0");
});

test("the picture is as wide as what is retained, and its sums are those of heapprof graph tree", async () => {
    const page = await view(shop);
    const drawn = await frames(page);
    const width = (name) => drawn.find((one) => one.name === name).width;
    assert.equal((await frame(page, "all")).title, "all: 1.49 MB, 504 objects");
    const walk = (node) => [node, ...node.children.flatMap(walk)];
    const tree = JSON.parse(heapprof("graph", "tree", shop, "--json", "--least", "0")).flatMap(walk);
    assert.equal(drawn.length, tree.length + 1);
    for (const { name, retained } of tree) {
        assert.ok(Math.abs(width(name) / width("all") - retained / (ALIVE * KB)) < 0.003, `${name}: ${width(name)}`);
    }
    assert.match((await frame(page, "[]: Order")).title, /^\[\]: Order: retains 404 kB, 26\.4%\n400 objects, themselves 404 kB$/);
    await page.verify();
});

test("a suspect in words leads to the object that it is gathered in", async () => {
    const page = await view(shop);
    const report = JSON.parse(heapprof("graph", "report", shop, "--json")).suspects;
    const said = await page.$$eval("#suspects li", (items) => items.map((item) =>
        [...item.querySelectorAll(".sentence, .clause")].map((one) => one.textContent).join("; ")));
    assert.deepEqual(said, report.map((one) => one.text.replaceAll("`", "")));
    assert.deepEqual(await page.$$eval("#suspects code", (found) => found.map((one) => one.textContent)), ["Cart::CACHE"]);
    assert.equal(await text(page, "#suspects .amount"), "1.40 MB");
    await page.click("#suspects button");
    assert.equal(await text(page, "#object h2"), `Hash ${report[0].gathered.address} Close`);
    assert.equal(await page.evaluate(() => document.activeElement.parentElement.id), "object");
    await page.verify();
});

test("an object is shown with what it refers to and is referred to by, what keeps it and what it keeps", async () => {
    const page = await view(shop);
    await page.click("#suspects button");
    assert.match(await text(page, "#object"), /T_HASH, survived 0 GCs; 1 MB, retains 1\.39 MB.*Kept alive by constant Cart::CACHE -> @items/);
    assert.deepEqual((await references(page, "is kept by")).rows.map(([label, , own]) => [label, own]), [["@items", "1 kB"]]);
    const to = await references(page, "refers to");
    assert.deepEqual([to.rows.length, to.rows[7][0], to.more], [20, "[7]", "and 380 more"]);
    const keeps = await references(page, "keeps");
    assert.deepEqual([keeps.rows[0][0], keeps.rows[0][3], keeps.rows[1][3]], ["[7]", "5 kB", "1 kB"]);
    await choose(page, "#object td button", "Order");
    assert.match(await text(page, "#object h2"), /^Order 0x/);
    assert.deepEqual(await page.$$eval("#object ol li", (found) => found.map((one) => one.textContent)),
        ["Array#push", "/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>"]);
    assert.deepEqual((await references(page, "is referred to by")).rows.map(([label, name]) => [label.slice(0, 1), name.split(" ")[0]]), [["[", "Hash"]]);
    await choose(page, "#object h2 button", "Close");
    assert.equal(await page.$eval("#object", (one) => one.hidden), true);
    await page.verify();
});

test("an object that a root refers to says so, and its class is among what it refers to", async () => {
    const page = await view(shop);
    await click(page, "global $list: Node");
    assert.deepEqual((await references(page, "is referred to by")).rows, [["global $list", "(a root)", "", ""]]);
    await page.click("#reset");
    await click(page, "constant CACHE: Cart");
    assert.deepEqual((await references(page, "refers to")).rows.map(([label]) => label), ["its class", "@items"]);
    await page.verify();
});

test("the table has bytes and what is retained, by class as heapprof graph top, and the largest objects", async () => {
    const page = await view(shop);
    const expected = JSON.parse(heapprof("graph", "top", shop, "--json", "--retained"));
    const shown = await rows(page);
    assert.deepEqual(shown.map((row) => row.at(-1)), expected.map(({ name }) => name));
    assert.deepEqual(shown.find((row) => row.at(-1) === "Order"), ["404 kB", "404 kB", "400", "26.4%", "Order"]);
    await page.evaluate(() => [...document.querySelectorAll("#table th button")].find((one) => one.textContent === "objects").click());
    assert.deepEqual((await rows(page))[0].slice(2), ["400", "79.4%", "Order"]);
    await group(page, "object");
    assert.match((await rows(page))[0].at(-1), /^class Object 0x/);
    await page.verify();
});

test("a class chosen in the table is found in the picture, and the search says what it keeps", async () => {
    const page = await view(shop);
    await choose(page, "#table td button", "Order");
    assert.equal(await text(page, "#found"), "1 frame, 404 kB, 26.4%");
    assert.deepEqual((await frames(page)).filter(({ fill }) => fill === "rgb(214, 125, 255)").map(({ name }) => name), ["[]: Order"]);
    await page.$eval("#reset", (one) => one.click());
    await enter(page, "#search", "@items|\\$list");
    assert.equal(await text(page, "#found"), "2 frames, 1.49 MB, 99.9%");
    await page.verify();
});

test("a click zooms, the keyboard goes from frame to frame", async () => {
    const page = await view(shop);
    await click(page, "@items: Hash");
    assert.equal((await frame(page, "constant CACHE: Cart")).faded, true);
    assert.equal((await frames(page)).some(({ name }) => name === "global $list: Node"), false);
    await page.mouse.move(0, 0);
    await page.focus("#flame");
    await page.keyboard.press("Escape");
    for (const key of ["ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    assert.match(await text(page, "#status"), /^global \$list: Node: retains 100 kB/);
    await page.verify();
});

// Where each frame's rectangle is.
const areas = (page) => page.$$eval("#flame .treemap g.frame", (found) => Object.fromEntries(found.map((one) => {
    const { x, y, width, height } = one.querySelector("rect").getBoundingClientRect();
    return [one.getAttribute("name"), { x, y, width, height, title: one.querySelector("title").textContent }];
})));

test("as a treemap each frame has an area in that of what dominates it, as large as what it retains", async () => {
    const page = await view(shop);
    await page.select("#picture", "1");
    const shown = await areas(page);
    const inside = (name, around) => {
        const [one, other] = [shown[name], shown[around]];
        assert.ok(one.x >= other.x && one.y >= other.y && one.x + one.width <= other.x + other.width + 0.1 &&
            one.y + one.height <= other.y + other.height + 0.1, `${name} in ${around}`);
    };
    for (const pair of [["[]: Order", "@items: Hash"], ["@items: Hash", "constant CACHE: Cart"], ["global $list: Node", "all"]]) inside(...pair);
    const area = (name) => shown[name].width * shown[name].height;
    const share = area("global $list: Node") / area("C global rb_cObject: class Object");
    assert.ok(Math.abs(share - 100 / 1429) < 0.03, String(share));
    assert.match(shown["[]: Order"].title, /^\[\]: Order: retains 404 kB, 26\.4%/);
    assert.equal(await page.$eval("#flame .flame-graph", (one) => one.hidden), true);
    await page.verify();
});

test("a treemap is gone through by mouse and keyboard, and says what is selected", async () => {
    const page = await view(shop);
    await page.select("#picture", "1");
    assert.match(await page.$eval("#flame", (one) => one.getAttribute("aria-label")), /as a treemap: arrows go/);
    await page.focus("#flame");
    for (const key of ["ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    assert.match(await text(page, "#status"), /^global \$list: Node: retains 100 kB/);
    assert.deepEqual(await page.$$eval("#flame .treemap .selected", (found) => found.map((one) => one.getAttribute("name"))), ["global $list: Node"]);
    await page.keyboard.press("Enter");
    assert.deepEqual(Object.keys(await areas(page)), ["global $list: Node", "@next: list of Node"]);
    assert.match(await text(page, "#object h2"), /^Node 0x/);
    await page.click('#flame .treemap g[name="global $list: Node"]', { offset: { x: 5, y: 5 } });
    assert.ok("C global rb_cObject: class Object" in await areas(page), "the outermost leads to its dominator");
    await enter(page, "#search", "Order");
    assert.equal(await page.$eval('#flame .treemap g[name="[]: Order"] rect', (one) => one.getAttribute("fill")), "rgb(214, 125, 255)");
    await page.select("#picture", "0");
    assert.equal((await areas(page))["all"]?.width ?? 0, 0);
    await page.verify();
});

test("whoever follows the picture down finds an object at each step, though many others are as large", async () => {
    const page = await view(dump("alike", `
        orders = Array.new(50) do
          text = graph.object("Text", 1024)
          item = graph.object("Item", 1024, labels: { [:IVAR, "@text"] => text })
          graph.object("Order", 1024, labels: { [:IVAR, "@item"] => item })
        end
        graph.root(:GLOBAL, "$orders", graph.object("Array", type: "T_ARRAY", tail: orders))`), "-n", "6");
    await click(page, "[]: Order");
    for (const name of ["Item", "Text"]) {
        await choose(page, "#object td button", name);
        assert.match(await text(page, "#object h2"), new RegExp(`^${name} 0x`));
    }
    await page.verify();
});

test("what is left out is said", async () => {
    const page = await view(shop, "-n", "3");
    await group(page, "object");
    assert.equal((await rows(page)).length, 5); // with the suspects
    assert.match(await text(page, "#table"), /499 are not in this page/);
    await page.verify();
});

test("of many ways the smaller ones are left out, and what they are is said where they were", async () => {
    const page = await view(dump("wide", `
        names = Array.new(30_000) { |i| [[:IVAR, "@a#{i}"], graph.object("Text#{i}", i < 100 ? 4096 : 64)] }
        graph.root(:GLOBAL, "$wide", graph.object("Wide", 40, others: names.to_h))`));
    assert.match(await text(page, "#facts"), /the picture leaves out 10,002 smaller ways/);
    assert.match((await frame(page, "global $wide: Wide")).title, /; 625 kB below it are too small for this page$/);
    await page.verify();
});

// Of two dumps too, where all these names have grown.
test("hostile names are text", async () => {
    const [old, path] = [1, 2].map((number) => dump(`hostile${number}`, `
        graph.fact("set", "1")
        graph.fact("dump", "${number}")
        names = ["</script><script>window.hacked=1</script>", "<img src=x onerror='window.hacked=2'>", "<!--<script>", "a\\u2028b",
                 "&lt;b&gt;", "__proto__", "constructor", "@@DATA@@", "f\\xFF<".b, "(?<x>[", "long" * 10_000]
        names.each { |name| graph.fact(name, name) }
        objects = names.map do |name|
          klass = graph.object("Class", 100_000 * ${number}, bits: ${number - 1} * 64, type: "T_CLASS", text: name)
          graph.object(name, 100_000 * ${number}, bits: ${number - 1} * 64, class_of: klass, text: name, stack: graph.stack("#{name}:1 #{name}"), labels: { [:IVAR, name] => klass })
        end
        objects.zip(names) { |to, name| graph.root(:GLOBAL, name, to) }`));
    const page = await viewDifference([old, path]);
    for (let i = 0; i < (await page.$$("#changes td button")).length; i++) {
        await page.evaluate((n) => document.querySelectorAll("#changes td button")[n].click(), i);
    }
    assert.match(await text(page, "#changes"), /<img src=x onerror='window.hacked=2'>/);
    const seen = (await frames(page)).map(({ name }) => name);
    assert.ok(seen.some((name) => name.includes("</script><script>window.hacked=1</script>")), seen);
    assert.ok(seen.some((name) => name.includes("f\\xFF<")), seen);
    const long = seen.find((name) => name.startsWith("global long"));
    assert.ok(long.length < 250 && long.endsWith("…"), long.length);
    for (const name of ["class", "object"]) {
        await group(page, name);
        for (let i = 0; i < (await rows(page)).length; i++) {
            await page.evaluate((n) => document.querySelectorAll("#table td button")[n]?.click(), i);
        }
        await page.$eval("#reset", (one) => one.click());
    }
    await click(page, seen.find((name) => name.includes("onerror")));
    assert.match(await text(page, "#object"), /<img src=x onerror='window.hacked=2'>:1/);
    assert.equal(await page.$$eval("script", (found) => found.length), 2);
    assert.equal(await page.$$eval("img, iframe, object, b", (found) => found.length), 0);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    await page.verify();
});

test("a dump without objects, and one that ends too soon, are shown for what they are", async () => {
    const empty = await view(dump("empty", ""));
    assert.equal(await text(empty, "#suspects h2"), "This dump has no objects: it ends before the first one, or the process had none to show. Dump again.");
    assert.equal(await empty.$eval("#nothing", (one) => one.hidden), false);
    await empty.verify();
    const cut = join(directory, "cut.graph");
    execFileSync("sh", ["-c", 'head -c "$1" "$2" >"$3"', "sh", String(readFileSync(shop).length - 12), shop, cut]);
    const page = await view(cut);
    assert.match(await text(page, "#facts"), /the file is incomplete: /);
    await page.verify();
});

test("axe-core finds no fault in the page of a dump, of a difference, of an object, light or dark, wide or narrow", async () => {
    for (const look of [{}, { dark: true }, { width: 420, height: 800 }]) {
        heapprof("graph", "view", shop, "-o", `${shop}.axe.html`);
        const page = await openFile(`${shop}.axe.html`, look);
        await page.click("#suspects button");
        assert.deepEqual(await unlabelled(page), []);
        await page.select("#picture", "1");
        assert.deepEqual(await unlabelled(page), []);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await page.verify();
        heapprof("graph", "view", ...growing(3), "-o", `${shop}.axe-difference.html`);
        const difference = await openFile(`${shop}.axe-difference.html`, look);
        assert.deepEqual(await unlabelled(difference), []);
        await difference.verify();
    }
});

test("the address has what is shown of a dump, and shows it again", async () => {
    let page = await view(shop);
    await page.select("#picture", "1");
    await group(page, "object");
    await page.click("#suspects button");
    await enter(page, "#query", "Hash");
    const at = await page.evaluate(() => location.hash);
    const shown = async () => [await rows(page), await text(page, "#object h2"), await text(page, "#query-said"), await page.$eval("#picture", (one) => one.value)];
    const before = await shown();
    await page.verify();
    page = await openFile(`${shop}.html`, { at });
    assert.deepEqual(await shown(), before);
    await page.verify();
});

test("every control has a name", async () => {
    const page = await viewDifference(growing(3));
    await page.click("#changes td button");
    const unnamed = await page.$$eval("button, select, input, [tabindex]", (found) =>
        found.filter((one) => !(one.textContent.trim() || one.labels?.length || one.getAttribute("aria-label"))).map((one) => one.outerHTML));
    assert.deepEqual(unnamed, []);
    await page.verify();
});

// ---- several dumps ----

// $cache grows by 400 orders from dump to dump, $log grows in place, $session is gone after the first.
const growing = (count) => Array.from({ length: count }, (_, i) => dump(`growing${i + 1}`, `
    i = ${i}
    { "set" => "1", "dump" => (i + 1).to_s, "directory" => "/srv" }.each { |key, value| graph.fact(key, value) }
    bits = i == 0 ? 0 : 64
    cache, log = graph.later, graph.later
    stack = graph.stack(":0 Array#push", "/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>")
    orders = Array.new(100 + 400 * i) { |k| graph.object("Order", 1024, bits: k < 400 * i - 300 ? bits : 0, stack: stack) }
    graph.object("Array", 102_400 + 4096 * i, bits: bits, type: "T_ARRAY", at: cache, tail: orders)
    graph.object("String", 204_800 + 102_400 * i, bits: bits, type: "T_STRING", at: log)
    graph.root(:GLOBAL, "$cache", cache)
    graph.root(:GLOBAL, "$log", log)
    graph.root(:GLOBAL, "$session", graph.object("Session", 307_200)) if i == 0`));

const changes = (page) => rows(page, "#changes tbody tr");
const rest = async (page) => (await rows(page, "#changes tfoot tr"))[0];

test("of several dumps the rows are those of heapprof graph diff, and with the rest they add up to the growth", async () => {
    for (const paths of [growing(2), growing(3)]) {
        const page = await viewDifference(paths);
        const diff = JSON.parse(heapprof("graph", "diff", ...paths, "--json"));
        const [shown, data] = [await changes(page), await page.$eval("#data", (one) => JSON.parse(one.textContent).diff)];
        const step = (value) => formatChange(value, "bytes"), amount = (value) => formatValue(value, "bytes");
        assert.deepEqual(shown.map((row) => row.slice(0, -1)), diff.rows.map((row) => [step(row.growth),
            ...(paths.length > 2 ? row.by_step.map(step) : []), amount(row.new.bytes), amount(row.freed.bytes), step(row.grown), row.what]));
        assert.deepEqual([(await rest(page))[0], data.rest], [step(diff.rest), diff.rest]);
        assert.equal(data.rows.reduce((sum, row) => sum + row.growth, data.rest), diff.bytes.at(-1) - diff.bytes[0]);
        assert.match(await text(page, "#changes h2"), new RegExp(`^\\${step(diff.growth)} of growth: ${diff.bytes.map(amount).join(" → ")}$`));
        assert.equal(await text(page, "#title"), paths.map((path) => path.split("/").at(-1)).join(" → "));
        await page.verify();
    }
});

test("a row opens an example of what is new and what holds it, by mouse and by keyboard", async () => {
    const page = await viewDifference(growing(3));
    const { rows: [first] } = JSON.parse(heapprof("graph", "diff", ...growing(3), "--json"));
    await page.click("#changes td button");
    assert.equal(await text(page, "#object h2"), `Order ${first.example.address} Close`);
    await page.evaluate(() => document.querySelectorAll("#changes tbody tr")[0].cells[7].querySelector("button").focus());
    await page.keyboard.press("Enter");
    assert.equal(await text(page, "#object h2"), `Array ${first.holder.address} Close`);
    assert.match(await text(page, "#object"), /Kept alive by global \$cache/);
    assert.equal(await page.evaluate(() => document.activeElement.parentElement.id), "object");
    await page.verify();
});

test("the rows are sorted by each column, by keyboard too, and again as they came", async () => {
    const page = await viewDifference(growing(3));
    const diff = JSON.parse(heapprof("graph", "diff", ...growing(3), "--json"));
    const expected = diff.rows.map((row) => row.what);
    const shown = async () => (await changes(page)).map((row) => row.at(-2));
    const head = (name) => page.evaluate((wanted) =>
        [...document.querySelectorAll("#changes th button")].find((one) => one.textContent === wanted).focus(), name);
    assert.deepEqual(await shown(), expected);
    await head("freed");
    await page.keyboard.press("Enter");
    assert.match((await shown())[0], /^roots, or several holders \(Session\): 1 object was freed/);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "freed");
    await page.keyboard.press("Enter");
    assert.deepEqual(await shown(), expected);
    await page.verify();
});

test("the picture's frames say how much they grew, and the outermost has the growth of the whole heap", async () => {
    const page = await viewDifference(growing(3));
    const diff = JSON.parse(heapprof("graph", "diff", ...growing(3), "--json"));
    const tree = await page.$eval("#data", (one) => JSON.parse(one.textContent).tree);
    assert.equal(tree.growth[0], diff.growth);
    const growth = (name) => tree.growth[tree.name.indexOf(name)];
    assert.deepEqual(["[]: Order", "global $log: String"].map(growth), [800 * KB, 204_800]);
    assert.equal(growth("global $cache: Array"), 800 * KB + 8192);
    assert.match((await frame(page, "[]: Order")).title, /; growth \+800 kB\n/);
    const [grown, all] = [(await frame(page, "[]: Order")).fill, (await frame(page, "global $log: String")).fill];
    assert.notEqual(grown, all);
    assert.match(await text(page, "#difference"), /Blue shrank, red grew: −.*\+.*what it retains/s);
    await page.verify();
});

test("dumps that are not of one process are compared by places, and the page says so", async () => {
    const [one, other] = ["p1", "p2"].map((name, i) => dump(name, `
        graph.root(:GLOBAL, "$list", graph.object("Array", 102_400 * ${i + 1}, type: "T_ARRAY"))`));
    const page = await viewDifference([one, other]);
    assert.match(await text(page, "#changes"), /paired by their places, not by identity: they are not of one process\./);
    await page.verify();
});

// ---- code ----

test("an example of a suspect is shown with the lines where it was allocated, and in the tree", async () => {
    const place = join(directory, "code");
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "cart.rb"), Array.from({ length: 30 }, (_, i) => `line(${i + 1}) # <b>\n`).join(""));
    writeFileSync(join(place, "app.rb"), "one\ntwo\nCart.add\n");
    const path = dump("code", `
        graph.fact("directory", "/srv")
        stack = graph.stack(":0 Array#push", "/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>", "/etc/passwd:1 <main>")
        list = graph.object("Array", 40, type: "T_ARRAY", tail: Array.new(400) { graph.object("Order", 4096, stack: stack) })
        graph.root(:GLOBAL, "$orders", list)`);
    const page = await view(path, "--sources", place);
    await page.evaluate(() => document.querySelectorAll("#suspects button")[1].click());
    assert.match(await text(page, "#object h2"), /^Order 0x/);
    assert.equal(await text(page, "#object .current .code"), "line(12) # <b>");
    assert.deepEqual(await page.$$eval("#object ol button", (found) => found.map((one) => one.textContent)), ["/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>"]);
    await choose(page, "#object ol button", "app.rb");
    assert.equal(await text(page, "#object .current .code"), "Cart.add");
    await choose(page, "#object p button", "Show in the tree");
    assert.match(await text(page, "#status"), /^\[\]: Order: retains 1\.56 MB/);
    assert.match(await text(page, "#object h2"), /^Order 0x/);
    await page.click("#reset");
    await page.evaluate(() => document.querySelectorAll("#suspects button")[2].click());
    assert.match(await text(page, "#status"), /^global \$orders: Array: /);
    assert.ok(!(await page.content()).includes("root:x:"));
    await page.verify();
    const without = await view(path, "--sources", place, "--no-sources");
    await without.evaluate(() => document.querySelectorAll("#suspects button")[1].click());
    assert.match(await text(without, "#object"), /no source of this file \(heapprof graph view --sources=DIR\): \/srv\/cart\.rb/);
    assert.ok(!(await without.content()).includes("line(12)"));
    await without.verify();
});

// ---- words and queries ----

test("words have their meaning as a tooltip where they stand, and are explained in one list", async () => {
    const page = await view(shop);
    await page.click("#suspects button");
    const tooltips = await page.$$eval("#object dfn", (found) => Object.fromEntries(found.map((one) => [one.textContent, one.title])));
    assert.match(tooltips.retains, /^What would be freed if this object went away/);
    assert.match(tooltips["is kept by"], /all ways from the roots lead through/);
    const inSuspects = await page.$$eval("#suspects dfn", (found) => found.map((one) => one.textContent));
    assert.deepEqual(inSuspects.slice(0, 2), ["keeps", "gathered in"]);
    assert.match(await text(page, "#meanings"), /T_IMEMO\(iseq\)Compiled code of a method.*\(several ways\)|\(several ways\).*T_IMEMO\(iseq\)Compiled code/);
    await page.verify();
});

test("a query selects among the objects of the page, says how many these are, or what is wrong with it", async () => {
    const page = await view(shop);
    await enter(page, "#query", "Order with bytes > 1k");
    assert.deepEqual((await rows(page)).map((row) => row.slice(0, 2)), [["5 kB", "5 kB"]]);
    assert.match(await text(page, "#query-said"), /^1 of the 50\d objects of this page, 5 kB$/);
    const said = async (query) => {
        await page.$eval("#query", (one, value) => { one.value = value; ["input", "change"].forEach((what) => one.dispatchEvent(new Event(what))); }, query);
        return text(page, "#query-said");
    };
    assert.match(await said("retained >= 1M and not class =~ /^Ca/"), /^3 of /);
    assert.match(await said("old and frozen and refs = 1"), /^1 of /);
    assert.match(await said("file = cart.rb and line = 12 and method =~ /#add$/"), /^397 of /);
    assert.match(await said("colour = 3"), /^column 1: "colour" is no field: write a class, or one of class type bytes retained length/);
    assert.equal(await said("bytes >"), "column 8: a value is missing");
    assert.equal(await said("class =~ /(/"), "column 10: /(/ is no regular expression");
    await page.$eval("#reset", (one) => one.click());
    assert.match(await text(page, "#query-said"), /^of the 50\d objects/);
    await page.verify();
});

test("a query means in the page what it means to heapprof graph query", () => {
    const frame = { file: "/srv/app/cart.rb", line: 12, method: "Cart#add" };
    const base = { stack: [], flags: "survived 1 GCs", text: null };
    const objects = [
        { ...base, class: "Hash", type: "T_HASH", bytes: 40, retained: 2048, length: 2000, capacity: 2048, unused: 0, age: 3, flags: "old, frozen" },
        { ...base, class: "Hash", type: "T_HASH", bytes: 4096, retained: 4096, length: 3, capacity: 64, unused: 1464, age: 0 },
        { ...base, class: "Shop::Order", type: "T_OBJECT", bytes: 80, retained: 1024 ** 2, age: 1, refs: 2, stack: [{ file: "", line: 0, method: "Array#push" }, frame] },
        { ...base, class: "T_IMEMO(iseq)", type: "T_IMEMO", bytes: 400, retained: 400, age: 3, flags: "old, has a finalizer", text: "Cart#add" },
    ];
    const places = (query) => objects.flatMap((object, i) => (parseQuery(query)(object) ? [i] : []));
    for (const [query, expected] of [
        ["", [0, 1, 2, 3]], ["Hash", [0, 1]], ["Hash with length > 1000", [0]], ["Hash with (length > 1_000 or bytes >= 4k)", [0, 1]], ["size<=3", [1]],
        ["retained = 1M", [2]], ["retained>=2kB and age!=3", [1, 2]], ["not Hash", [2, 3]], ["not (Hash or age == 3)", [2]], ["not Hash or old", [0, 2, 3]],
        ["class = Shop::Order", [2]], ["class =~ /^Shop/", [2]], ["class =~ /::|\\(/", [2, 3]], ["class != Hash and type != T_IMEMO", [2]],
        ["(class = T_IMEMO(iseq))", [3]], ["'T_IMEMO(iseq)' or (Hash with (age = 0))", [1, 3]], ["T_IMEMO(iseq)", [3]],
        ["length < 10", [1]], ["not length < 10", [0, 2, 3]], ["length != 3", [0]], ["age = 3 or bytes = 80 and retained < 1k", [0, 3]],
        ["fill < 10%", [1]], ["unused > 1k", [1]], ["capacity = 64", [1]], ["refs > 1", [2]], ["frozen", [0]], ["finalizer and not frozen", [3]],
        ["file = cart.rb", [2]], ["file = rt.rb", []], ["file = /srv/app/cart.rb and line = 12", [2]], ["line != 5", [2]], ["not line = 5", [0, 1, 2, 3]],
        ["method = Cart#add", [2]], ["text = 'Cart#add'", [3]], ["bytes > 0.05k", [1, 2, 3]], ["Object", []], ['"__proto__"', []], ['"a\\"b"', []],
    ]) assert.deepEqual(places(query), expected, query);
    for (const [query, pattern] of [
        ["bytes > x", /^column 9: x is no number/], ["bytes ? 1", /^column 7: after this field comes one of = != < <= > >=$/], ["Hash Hash", /^column 6: and, or, with or the end is expected/],
        ["(Hash", /^column 1: this \( is not closed/], ["Hash)", /^column 5: this \) closes nothing/], ["bytes =~ /1/", /one of = != < <= > >=$/], ["class < Hash", /one of = != =~$/],
        ["Hash with length > 1 or bytes > 2", /with and or need parentheses/], ["Hash or Array with length > 1", /with and or need parentheses/],
        ["(".repeat(300), /^column 201: the expression has more than 200 parts/], ["not ".repeat(100_000), /more than 2047 characters/], ["constructor = 1", /is no field/],
        ["or Hash", /"or" is no field/], ["not", /^column 4: a condition is missing/], ["class =~ ^Shop", /between slashes/], ['class = "a', /the text has no end/], ["bytes = 10%", /is no number/],
    ]) assert.throws(() => parseQuery(query), (error) => assert.match(error.message, pattern, query) ?? true);
});

test("a query finds in the page the objects that heapprof graph query finds", async () => {
    const path = dump("queried", `
        stack = graph.stack(":0 push", "/srv/cart.rb:12 Cart#add")
        texts = Array.new(20) { |i| graph.object("String", 40 + 100 * i, type: "T_STRING", length: 50 * i, bits: i % 4, text: "text #{i}", stack: i.even? ? stack : nil) }
        orders = Array.new(10) { |i| graph.object("Shop::Order", 80, labels: { [:IVAR, "@text"] => texts[i] }, bits: i.odd? ? 128 : 0) }
        hash = graph.object("Hash", 40 + 64 * 24, type: "T_HASH", tail: orders.each_with_index.map { |to, i| [graph.integer(i), to] })
        graph.root(:GLOBAL, "$all", graph.object("Array", 40 + 800, type: "T_ARRAY", tail: texts + [hash]))
        graph.root(:GLOBAL, "$new", graph.object("T_DATA(mutex)", 40, type: "T_DATA"))`);
    const page = await view(path, "-n", "1000");
    for (const query of ["String", "String with length > 500", "length = 50", "size != 50", "not size != 50", "(Array or Hash) with fill < 50%",
        "capacity > 100 and not String", "unused > 1k", "refs > 1", "age = 3", "not old and bytes >= 1.5k", "frozen", "class =~ /^Shop::/", "class != String",
        "T_DATA(mutex)", "file = cart.rb and line = 12", "line != 12", "not line = 12", "method =~ /#add$/", "text = 'text 7'", "text =~ /1/", "retained > 1k or frozen"]) {
        const expected = JSON.parse(heapprof("graph", "query", path, query, "--json", "-n", "0"));
        const said = await page.evaluate((value) => {
            const input = document.querySelector("#query");
            input.value = value;
            for (const what of ["input", "change"]) input.dispatchEvent(new Event(what));
            return document.querySelector("#query-said").textContent;
        }, query);
        assert.equal(said.split(" objects")[0], `${expected.objects} of the 33`, query);
        assert.deepEqual((await rows(page)).map((row) => row.at(-1).match(/0x\S+$/)?.[0]).sort(), expected.rows.map(({ address }) => address).sort(), query);
    }
    await page.verify();
});

test("a page with 10,000 objects answers at once", async () => {
    const page = await view(dump("many", `
        names = Array.new(12_000) { |i| graph.object("Order", 100 + i) }
        graph.root(:GLOBAL, "$many", graph.object("Array", 40, type: "T_ARRAY", tail: names))`), "-n", "10000");
    const spent = await page.evaluate(() => {
        const from = performance.now();
        const query = document.querySelector("#query");
        query.value = "Order with bytes > 10k and not old";
        for (const what of ["input", "change"]) query.dispatchEvent(new Event(what));
        return performance.now() - from;
    });
    assert.match(await text(page, "#query-said"), /^1,859 of the 10,001 objects/);
    assert.ok(spent < 1000, `${spent} ms`);
    await page.verify();
});
