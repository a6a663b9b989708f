// graph.test.mjs - Chromium's DevTools open what heapprof graph convert makes of a dump, and find in it what we find.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

import * as devtools from "./devtools.mjs";

const program = process.env.HEAPPROF;
const top = join(dirname(program), "../..");
const directory = mkdtempSync(join(tmpdir(), "heapprof-graph-"));
const file = join(directory, "shop.graph");
const snapshot = join(directory, "shop.heapsnapshot");

// Two roots to one object, a reference from both sides, a list, a class that its objects keep alive.
const shop = `
    require ARGV[0]
    graph = GraphBytes.new
    order = graph.object("Class", 400, type: "T_CLASS", text: "Order")
    orders = Array.new(500) { graph.object("Order", 200, class_of: order) }
    hash = graph.object("Hash", 9000, type: "T_HASH", tail: orders.each_with_index.map { |to, i| [graph.symbol("key#{i}"), to] })
    array = graph.object("Array", 3000, type: "T_ARRAY", tail: orders.first(100))
    nodes = Array.new(200) { graph.later }
    nodes.each_cons(2) { |one, next_one| graph.object("Node", 100, at: one, labels: { [:IVAR, "@next"] => next_one }) }
    graph.object("Node", 100, at: nodes.last)
    graph.root(:GLOBAL, "$hash", hash)
    graph.root(:GLOBAL, "$same", hash)
    graph.root(:C_GLOBAL, "array", array)
    graph.root(:GLOBAL, "$list", nodes.first)
    graph.object("Garbage", 5000)
    File.binwrite(ARGV[1], graph.bytes)`;

// Two dumps; of the second's orders 300 are new.
const grown = `
    require ARGV[0]
    2.times do |dump|
      graph = GraphBytes.new
      { "time" => dump * 4_000_000_000, "set" => 1, "dump" => dump + 1 }.each { |key, value| graph.fact(key, value.to_s) }
      stack = graph.stack("/srv/cart.rb:12 Cart#add", "/srv/app.rb:3 <main>")
      orders = Array.new(500 + dump * 300) { |i| graph.object("Order", 200, bits: dump == 1 && i < 500 ? 64 : 0, stack:) }
      graph.root(:GLOBAL, "$orders", graph.object("Array", 9000, type: "T_ARRAY", tail: orders))
      File.binwrite(ARGV[dump + 1], graph.bytes)
    end`;

before(async () => {
    execFileSync(process.env.BASERUBY || "ruby", ["-e", shop, join(top, "test/cli/lib/graph_bytes.rb"), file]);
    writeFileSync(snapshot, execFileSync(program, ["graph", "convert", file, "--to", "heapsnapshot"]));
    await devtools.start();
});

after(async () => {
    await devtools.stop();
    rmSync(directory, { recursive: true });
});

// "105 kB52 %" or "3.1 kB" as bytes of 1000.
const kilobytes = (text) => Number(text.replace(/kB.*/s, "").replace(/[\s,]/g, ""));

// As DevTools show them.
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 100e6 ? 1 : 0);

test("DevTools have our totals, objects and retained bytes", async () => {
    const { total, rows, wrong } = await devtools.open(snapshot);
    const ours = JSON.parse(execFileSync(program, ["graph", "top", file, "--json"], { encoding: "utf8" }));
    const bytes = ours.reduce((sum, row) => sum + row.bytes, 0);
    assert.deepEqual(wrong, []);
    assert.match(total, new RegExp(`\\(${Math.round(bytes / 1000)}\\s*kB\\)`));
    for (const { name, objects, bytes: own, retained } of ours.filter((row) => row.name !== "Class")) {
        const [what, , shallow, kept] = rows.find(([constructor]) => constructor.startsWith(name)) ?? assert.fail(name);
        assert.match(what.replace(/\s/g, ""), objects > 1 ? new RegExp(`×${objects}$`) : new RegExp(`^${name}$`));
        assert.ok(Math.abs(kilobytes(shallow) - own / 1000) < 0.6, `${name}: ${shallow}, ours ${own}`);
        assert.ok(Math.abs(kilobytes(kept) - retained / 1000) < 0.6, `${name}: ${kept}, ours ${retained}`);
    }
});

// The heap of a real program, one of whose classes is REAL_CLASS. Of V8 code is one group.
test("DevTools have our totals and retained bytes of a real program, too", async (t) => {
    const { REAL_GRAPH: dump, REAL_CLASS: wanted } = process.env;
    const real = join(directory, "real.heapsnapshot");
    writeFileSync(real, execFileSync(program, ["graph", "convert", dump, "--to", "heapsnapshot"], { maxBuffer: 2 ** 30 }));
    const { total, rows, wrong } = await devtools.open(real, { shown: "String" });
    const ours = JSON.parse(execFileSync(program, ["graph", "top", dump, "--json", "-n0", "--exact"], { encoding: "utf8", maxBuffer: 2 ** 28 }));
    assert.deepEqual(wrong, []);
    assert.match(total, new RegExp(`\\(${megabytes(ours.reduce((sum, row) => sum + row.bytes, 0))}\\s*MB\\)`));
    const compared = rows.map(([what, , shallow, kept]) => {
        const [name, objects] = what.replace(/\s/g, "").split("×");
        const row = ours.find((one) => one.name === name);
        if (!row || !shallow.includes("kB")) return null; // another group, or the head
        assert.equal(Number((objects ?? "1").replace(/,/g, "")), row.objects, name);
        assert.ok(Math.abs(kilobytes(shallow) - row.bytes / 1000) < 0.6, `${name}: ${shallow}, ours ${row.bytes}`);
        assert.ok(Math.abs(kilobytes(kept) - row.retained / 1000) < 0.6, `${name}: ${kept}, ours ${row.retained}`);
        return name;
    }).filter((name) => name);
    assert.ok(compared.length > 20 && compared.includes(wanted), String(compared));
    t.diagnostic(`${compared.length} classes compared, of ${total}`);
});

test("DevTools have a timeline of two dumps, and the stack of an object", async () => {
    const dumps = [1, 2].map((number) => join(directory, `${number}.graph`));
    const timeline = join(directory, "grown.heaptimeline");
    execFileSync(process.env.BASERUBY || "ruby", ["-e", grown, join(top, "test/cli/lib/graph_bytes.rb"), ...dumps]);
    writeFileSync(timeline, execFileSync(program, ["graph", "convert", ...dumps, "--to", "heaptimeline"]));
    const { page, first, total, rows, wrong } = await devtools.open(timeline, { stacks: true });
    assert.match(total, /\(169\s*kB\)/);
    assert.ok(rows.some(([what]) => /^Order×800$/.test(what.replace(/\s/g, ""))), String(rows));
    await first("div", "4.00");
    await (await first("tr", "Order×")).click();
    await page.keyboard.press("ArrowRight");
    await first("tr", "@");
    await page.keyboard.press("ArrowDown");
    await (await first("[role=tab]", "Allocation stack")).click();
    await first(".heap-allocation-stack", "Cart#add<main>(roots)");
    assert.deepEqual(wrong, []);
});
