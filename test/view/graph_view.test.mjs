// graph_view.test.mjs - heapprof graph view, from the command line to what is seen, on dumps that are made here.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import { click, directory, frame, frames, group, heapprof, openFile, rows, start, stop, text } from "./browser.mjs";

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

// Cart::CACHE keeps 400 KB of orders in a Hash; $list a list; one object is garbage.
before(async () => {
    await start();
    shop = dump("shop", `
        object, cart, cache, items = Array.new(4) { graph.later }
        graph.object("Class", 512, type: "T_CLASS", at: object, text: "Object", others: { [:CONSTANT, "Cart"] => cart })
        graph.object("Class", 512, type: "T_CLASS", at: cart, text: "Cart", others: { [:CONSTANT, "CACHE"] => cache })
        graph.object("Cart", 1024, at: cache, class_of: cart, bits: 3 | 128, labels: { [:IVAR, "@items"] => items })
        stack = graph.stack(":0 Array#push", "/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>")
        orders = Array.new(400) { |i| graph.object("Order", i == 7 ? 5120 : 1024, stack: stack) }
        graph.object("Hash", 102400, type: "T_HASH", at: items, tail: orders.each_with_index.map { |order, i| [graph.integer(i), order] })
        nodes = Array.new(100) { graph.later }
        nodes.each_cons(2) { |one, other| graph.object("Node", 1024, at: one, labels: { [:IVAR, "@next"] => other }) }
        graph.object("Node", 1024, at: nodes.last)
        graph.root(:C_GLOBAL, "rb_cObject", object)
        graph.root(:GLOBAL, "$list", nodes[0])
        graph.object("Garbage", 2048)
        graph.fact("pid", "42")`);
});
after(stop);

const ALIVE = 606; // KB: of two classes, the cart, the hash, 400 orders, 100 nodes

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
    fails(2, /--count=10001: at most 10000/, shop, "-n", "10001");
    fails(2, /--count/, shop, "-n", "0");
});

test("the picture is as wide as what is retained, and its sums are those of heapprof graph tree", async () => {
    const page = await view(shop);
    const drawn = await frames(page);
    const width = (name) => drawn.find((one) => one.name === name).width;
    assert.equal((await frame(page, "all")).title, "all: 606 kB, 504 objects");
    const walk = (node) => [node, ...node.children.flatMap(walk)];
    const tree = JSON.parse(heapprof("graph", "tree", shop, "--json", "--least", "0")).flatMap(walk);
    assert.equal(drawn.length, tree.length + 1);
    for (const { name, retained } of tree) {
        assert.ok(Math.abs(width(name) / width("all") - retained / (ALIVE * KB)) < 0.003, `${name}: ${width(name)}`);
    }
    assert.match((await frame(page, "[]: Order")).title, /^\[\]: Order: retains 404 kB, 66\.7%\n400 objects, themselves 404 kB$/);
    await page.verify();
});

test("a suspect in words leads to the object that it is gathered in", async () => {
    const page = await view(shop);
    const report = JSON.parse(heapprof("graph", "report", shop, "--json")).suspects;
    assert.deepEqual(await page.$$eval("#suspects button", (found) => found.map((one) => one.textContent)), report.map((one) => one.text));
    await page.click("#suspects button");
    assert.equal(await text(page, "#object h2"), `Hash ${report[0].gathered.address} Close`);
    await page.verify();
});

test("an object is shown with what it refers to and is referred to by, what keeps it and what it keeps", async () => {
    const page = await view(shop);
    await page.click("#suspects button");
    assert.match(await text(page, "#object"), /T_HASH, survived 0 GCs; 100 kB, retains 504 kB.*Alive by constant Cart::CACHE -> @items/);
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
    assert.deepEqual(shown.find((row) => row.at(-1) === "Order"), ["404 kB", "404 kB", "400", "66.7%", "Order"]);
    await page.evaluate(() => [...document.querySelectorAll("#table th button")].find((one) => one.textContent === "objects").click());
    assert.deepEqual((await rows(page))[0].slice(2), ["400", "79.4%", "Order"]);
    await group(page, "object");
    assert.match((await rows(page))[0].at(-1), /^class Object 0x/);
    await page.verify();
});

test("a class chosen in the table is found in the picture, and the search says what it keeps", async () => {
    const page = await view(shop);
    await choose(page, "#table td button", "Order");
    assert.equal(await text(page, "#found"), "1 frame, 404 kB, 66.7%");
    assert.deepEqual((await frames(page)).filter(({ fill }) => fill === "rgb(214, 125, 255)").map(({ name }) => name), ["[]: Order"]);
    await page.$eval("#reset", (one) => one.click());
    await page.type("#search", "@items|\\$list");
    assert.equal(await text(page, "#found"), "2 frames, 604 kB, 99.7%");
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
    assert.ok(Math.abs(share - 100 / 505) < 0.03, String(share));
    assert.match(shown["[]: Order"].title, /^\[\]: Order: retains 404 kB, 66\.7%/);
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
    assert.deepEqual(Object.keys(await areas(page)), ["global $list: Node", "@next: Node"]);
    assert.match(await text(page, "#object h2"), /^Node 0x/);
    await page.click('#flame .treemap g[name="global $list: Node"]', { offset: { x: 5, y: 5 } });
    assert.ok("C global rb_cObject: class Object" in await areas(page), "the outermost leads to its dominator");
    await page.type("#search", "Order");
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
        names = Array.new(30_000) { |i| [[:IVAR, "@a#{i}"], graph.object("String", i < 100 ? 4096 : 64, type: "T_STRING")] }
        graph.root(:GLOBAL, "$wide", graph.object("Wide", 40, others: names.to_h))`));
    assert.match(await text(page, "#facts"), /the picture leaves out 10,002 smaller ways/);
    assert.match((await frame(page, "global $wide: Wide")).title, /; 625 kB below it are too small for this page$/);
    await page.verify();
});

test("hostile names are text", async () => {
    const page = await view(dump("hostile", `
        names = ["</script><script>window.hacked=1</script>", "<img src=x onerror='window.hacked=2'>", "<!--<script>", "a\\u2028b",
                 "&lt;b&gt;", "__proto__", "constructor", "@@DATA@@", "f\\xFF<".b, "(?<x>[", "long" * 10_000]
        names.each { |name| graph.fact(name, name) }
        objects = names.map do |name|
          klass = graph.object("Class", 100_000, type: "T_CLASS", text: name)
          graph.object(name, 100_000, class_of: klass, text: name, stack: graph.stack("#{name}:1 #{name}"), labels: { [:IVAR, name] => klass })
        end
        objects.zip(names) { |to, name| graph.root(:GLOBAL, name, to) }`));
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
    assert.equal(await text(empty, "#suspects h2"), "Nothing keeps more than 5% by itself.");
    assert.equal(await empty.$eval("#nothing", (one) => one.hidden), false);
    await empty.verify();
    const cut = join(directory, "cut.graph");
    execFileSync("sh", ["-c", 'head -c "$1" "$2" >"$3"', "sh", String(readFileSync(shop).length - 12), shop, cut]);
    const page = await view(cut);
    assert.match(await text(page, "#facts"), /the file is incomplete: /);
    await page.verify();
});

test("every control has a name", async () => {
    const page = await view(shop);
    await page.click("#suspects button");
    const unnamed = await page.$$eval("button, select, input, [tabindex]", (found) =>
        found.filter((one) => !(one.textContent.trim() || one.labels?.length || one.getAttribute("aria-label"))).map((one) => one.outerHTML));
    assert.deepEqual(unnamed, []);
    await page.verify();
});
