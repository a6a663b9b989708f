// The page's sums, against ones made stack by stack from the same random profile. Each run has profiles of its own;
// SEED=N has those again that a run with that seed had.

import assert from "node:assert/strict";
import { test } from "node:test";

import { placesByName } from "./page/colours.js";
import { findFolds } from "./page/folds.js";
import { definitions, groupings } from "./page/groups.js";
import { neighbour } from "./page/keys.js";
import { readProfile } from "./page/profile.js";
import { rootedBy, rootKeys } from "./page/rooted.js";
import { listFound, matcher, matchFunctions, sumFound } from "./page/search.js";
import { sumLines } from "./page/source.js";
import { chooseRows, insideOf, sumFrames } from "./page/sums.js";
import { csv } from "./page/table.js";
import { callerTree, callSums, callTree, sandwich } from "./page/tree.js";

// Numbers that look random and are the same for a seed (mulberry32).
function random(seed) {
    let state = seed;
    return (below) => {
        state = (state + 0x6d2b79f5) | 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
    };
}

const FUNCTIONS = 6;
const strings = ["", "class", "gc_age", "gcs", "String", "Array", "a.rb", "gem.rb", "pretty",
    ...Array.from({ length: FUNCTIONS }, (_, f) => `f${f}`)];

// JSON as view writes it, and the same as a list of { stack, set, value }, stacks outermost first.
function make(seed) {
    const next = random(seed);
    const nodes = { parent: [], function: [], line: [] };
    const rows = { node: [], set: [], values: [[]] };
    const list = [];
    const functions = { name: [], file: [], line: [] };
    for (let f = 0; f < FUNCTIONS; f++) {
        functions.name.push(9 + f);
        functions.file.push(f % 2);
        functions.line.push(0);
    }
    for (let node = 0; node < 40; node++) {
        nodes.parent.push(next(node + 1) - 1);
        nodes.function.push(next(FUNCTIONS));
        nodes.line.push(1 + next(3));
    }
    for (let row = 0; row < 120; row++) {
        const node = next(41) - 1;
        const set = next(3);
        if (list.some((one) => one.node === node && one.set === set)) continue;
        const value = next(200) - 50;
        rows.node.push(node);
        rows.set.push(set);
        rows.values[0].push(value);
        const stack = [];
        for (let at = node; at >= 0; at = nodes.parent[at]) stack.unshift({ f: nodes.function[at], line: nodes.line[at] });
        list.push({ node, set, value, stack });
    }
    const json = {
        name: "x", old: null, time: 0, comments: [], types: [["space", "bytes"]], default: 0, strings,
        files: { name: [6, 7], gem: [0, 8], own: [1, 0], short: [6, 7] }, functions, nodes, rows, sources: [],
        labels: { key: [1, 1, 2], text: [4, 5, 0], number: [0, 0, 8], unit: [0, 0, 3] },
        sets: [[], [0, 2], [1]],
    };
    return { profile: readProfile(json), json, list };
}

const sum = (rows) => rows.reduce((all, row) => all + row.value, 0);

function look(profile, filters = [], zoomed = 0) {
    const chosen = chooseRows(profile, filters, zoomed > 0 ? insideOf(profile, zoomed) : null);
    return { type: 0, chosen, sums: sumFrames(profile, 0, chosen) };
}

function listed(profile, name, seen) {
    const groups = groupings(profile).find((one) => one.name === name).list(seen);
    return Object.fromEntries(groups.filter((one) => one.self !== 0 || one.total !== 0).map((one) => [one.name, [one.self, one.total]]));
}

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 30));
const SEEDS = Array.from({ length: 50 }, (_, i) => SEED + i);
console.log(`profiles of the seeds from SEED=${SEED} on`);

test("a function has what is below it, once for each stack", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const all = listed(profile, "function", look(profile));
        for (let f = 0; f < FUNCTIONS; f++) {
            const own = sum(list.filter(({ stack }) => stack.at(-1)?.f === f));
            const total = sum(list.filter(({ stack }) => stack.some((frame) => frame.f === f)));
            assert.deepEqual(all[`f${f}`] ?? [0, 0], [own, total], `seed ${seed}`);
        }
    }
});

test("stacks that begin with a label's value hold what has it, and are else what they were", () => {
    for (const seed of SEEDS) {
        const { json, list } = make(seed);
        json.strings = json.strings.map((text) => (text === "class" ? "endpoint" : text));
        assert.deepEqual(rootKeys(json), ["endpoint"]);
        const profile = readProfile(rootedBy(json, "endpoint"));
        const all = listed(profile, "function", look(profile));
        ["(no endpoint)", "String", "Array"].forEach((name, set) => {
            const having = list.filter((row) => row.set === set);
            const own = sum(having.filter(({ stack }) => stack.length === 0));
            assert.deepEqual(all[name] ?? [0, 0], [own, sum(having)], `seed ${seed}`);
        });
        for (let f = 0; f < FUNCTIONS; f++) {
            const own = sum(list.filter(({ stack }) => stack.at(-1)?.f === f));
            const total = sum(list.filter(({ stack }) => stack.some((frame) => frame.f === f)));
            assert.deepEqual(all[`f${f}`] ?? [0, 0], [own, total], `seed ${seed}`);
        }
    }
});

test("so has a file, and a gem", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const own = sum(list.filter(({ stack }) => stack.length > 0 && stack.at(-1).f % 2 === 1));
        const total = sum(list.filter(({ stack }) => stack.some(({ f }) => f % 2 === 1)));
        assert.deepEqual(listed(profile, "file", look(profile))["gem.rb"] ?? [0, 0], [own, total]);
        assert.deepEqual(listed(profile, "gem", look(profile)).pretty ?? [0, 0], [own, total]);
    }
});

test("a label has its rows, and what has no such label is there", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const classes = listed(profile, "class", look(profile));
        ["(no class)", "String", "Array"].forEach((name, set) => {
            const value = sum(list.filter((row) => row.set === set));
            assert.deepEqual(classes[name] ?? [0, 0], [value, value]);
        });
        const aged = sum(list.filter((row) => row.set === 1));
        assert.deepEqual(listed(profile, "gc_age", look(profile))["8 gcs"] ?? [0, 0], [aged, aged]);
    }
});

test("an app line has the stacks whose innermost frame of the application is there", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const lines = listed(profile, "app line", look(profile));
        for (let line = 1; line <= 3; line++) {
            const value = sum(list.filter(({ stack }) => stack.findLast((frame) => frame.f % 2 === 0)?.line === line));
            assert.deepEqual(lines[`a.rb:${line}`] ?? [0, 0], [value, value]);
        }
    }
});

test("an app line is named by the function that most of it is of", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        for (const line of groupings(profile).find((one) => one.name === "app line").list(look(profile))) {
            const there = list.map((row) => ({ ...row, own: row.stack.findLast((frame) => frame.f % 2 === 0) }))
                .filter(({ own }) => (own ? `a.rb:${own.line}` : "(no line of the application)") === line.name);
            const most = Math.max(...there.map(({ value }) => Math.abs(value)));
            const names = there.filter(({ value }) => Math.abs(value) === most).map(({ own }) => own && own.f);
            assert.ok(names.includes(line.function), line.name);
        }
    }
});

test("a line of a file has the stacks that pass it", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const lines = sumLines(profile, 0, 0, look(profile).chosen);
        for (let line = 1; line <= 3; line++) {
            const is = (frame) => frame !== undefined && frame.f % 2 === 0 && frame.line === line;
            const nonzero = list.filter((row) => row.value !== 0);
            const own = sum(nonzero.filter(({ stack }) => is(stack.at(-1))));
            const total = sum(nonzero.filter(({ stack }) => stack.some(is)));
            assert.deepEqual(lines.get(line) ?? { self: 0, total: 0 }, { self: own, total });
        }
    }
});

test("zoom and filter leave the rows of both", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const zoomed = profile.nodeFrame[7];
        const strings = groupings(profile).find((one) => one.name === "class").list(look(profile)).find((one) => one.name === "String");
        if (!strings) continue;
        const below = ({ node }) => {
            for (let frame = node < 0 ? 0 : profile.nodeFrame[node]; frame > 0; frame = profile.frameParent[frame]) {
                if (frame === zoomed) return true;
            }
            return false;
        };
        const { sums } = look(profile, [strings], zoomed);
        assert.equal(sums.net[0], sum(list.filter((row) => row.set === 1 && below(row))));
    }
});

test("a search counts what lies below what it found once", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const { sums } = look(profile);
        const found = sumFound(profile, sums, matchFunctions(profile, matcher("^F[13]$")));
        const passes = ({ stack }) => stack.some(({ f }) => f === 1 || f === 3);
        assert.equal(found.sum, sum(list.filter(passes)));
    }
});

test("a search that is no expression is taken as it stands", () => {
    assert.equal(matcher("a(b")("xA(B"), true);
    assert.equal(matcher("a(b")("ab"), false);
    assert.equal(matcher(""), null);
});

test("arrows go to the widest callee, back, and to the sides", () => {
    const { profile } = make(3);
    const { sums } = look(profile);
    const down = neighbour(profile, sums, 0, "ArrowDown");
    const right = neighbour(profile, sums, down, "ArrowRight");
    assert.equal(neighbour(profile, sums, down, "ArrowUp"), 0);
    assert.ok(sums.width[down] >= sums.width[right]);
    assert.equal(neighbour(profile, sums, right, "ArrowLeft"), down);
    assert.equal(neighbour(profile, sums, down, "ArrowLeft"), undefined);
    assert.equal(neighbour(profile, sums, 0, "ArrowUp"), undefined);
    assert.equal(neighbour(profile, sums, down, "a"), undefined);
});

test("a C function is one wherever it is called; another is its name and file", () => {
    const named = ["Class#new", "Cart#load", "Class#new", "<main>", "<main>", "Cart#load", "Array#<<"];
    const texts = [...new Set(named)];
    const profile = (line) => ({
        strings: texts,
        functions: { name: named.map((name) => texts.indexOf(name)), file: [0, 0, 1, 0, 1, 0, 0], line },
    });
    const { definition, native } = definitions(profile([0, 10, 0, 0, 0, 20, 0]));
    assert.deepEqual(definition, [0, 1, 0, 3, 4, 1, 6]);
    assert.deepEqual(native, [true, false, true, false, false, false, true]);
    assert.deepEqual(definitions(profile([0, 0, 0, 0, 0, 0, 0])).definition, [0, 1, 2, 3, 4, 1, 6]); // nobody says who is C
});

// ---- trees ----

const KINDS = [["all frames", null], ["folds", new Set()]];

// Each frame's amounts are those of the rows below it, and folding loses none.
test("a tree, folded or not, has what its stacks have", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const { sums } = look(profile);
        const folds = findFolds(profile);
        for (const [kind, opened] of KINDS) {
            const tree = callTree(profile, opened && folds, opened ?? new Set());
            const folded = callSums(profile, tree, sums);
            assert.equal(folded.net[0], sum(list), kind);
            assert.equal(folded.width[0], sums.width[0], kind);
            for (let frame = 1; frame < tree.frameCount; frame++) assert.ok(tree.frameParent[frame] < frame);
        }
    }
});

test("with all folds open the tree is the profile's own", () => {
    for (const seed of SEEDS) {
        const { profile } = make(seed);
        const folds = findFolds(profile);
        const tree = callTree(profile, folds, new Set(folds.sizes.keys()));
        assert.deepEqual([...tree.frameParent], [...profile.frameParent]);
        assert.deepEqual([...tree.token], [...profile.frameFunction]);
    }
});

test("what is folded is never the application's, and is two frames or more of which one calls another", () => {
    for (const seed of SEEDS) {
        const { profile } = make(seed);
        const { head } = findFolds(profile);
        for (let frame = 1; frame < profile.frameCount; frame++) {
            if (head[frame] === 0) continue;
            assert.equal(profile.files.own[profile.functions.file[profile.frameFunction[frame]]], 0);
            assert.ok(head.some((one, i) => one === head[frame] && head[profile.frameParent[i]] === one));
        }
    }
});

test("what allocates has its own amounts, and its callers below it", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const { sums } = look(profile);
        const calls = callTree(profile, null, new Set());
        const tree = callerTree(profile, calls, callSums(profile, calls, sums), []);
        for (let frame = 1; frame < tree.frameCount; frame++) {
            const path = [];
            for (let at = frame; at > 0; at = tree.frameParent[at]) path.unshift(tree.token[at]);
            const rows = list.filter(({ stack }) => path.every((f, i) => stack.at(-1 - i)?.f === f));
            assert.equal(tree.sums.net[frame], sum(rows), `${path}`);
        }
    }
});

test("one function has the callers and callees of all its stacks, each once", () => {
    for (const seed of SEEDS) {
        const { profile, list } = make(seed);
        const { sums } = look(profile);
        const calls = callTree(profile, null, new Set());
        const { callers, callees } = sandwich(profile, calls, callSums(profile, calls, sums), 2);
        const passes = list.filter(({ stack }) => stack.some(({ f }) => f === 2));
        assert.equal(callers.sums.net[0], sum(passes));
        assert.equal(callees.sums.net[0], sum(passes));
        for (let f = 0; f < FUNCTIONS; f++) {
            const first = (stack) => stack.findIndex((frame) => frame.f === 2);
            const of = (tree) => [...tree.token].findIndex((token, frame) => frame > 0 && tree.frameParent[frame] === 0 && token === f);
            const by = (at) => sum(passes.filter(({ stack }) => stack[first(stack) + at]?.f === f));
            if (of(callers) > 0) assert.equal(callers.sums.net[of(callers)], by(-1));
            if (of(callees) > 0) assert.equal(callees.sums.net[of(callees)], by(1));
        }
    }
});

test("frames found are listed the widest first", () => {
    for (const seed of SEEDS) {
        const { profile } = make(seed);
        const { sums } = look(profile);
        const widths = listFound(profile, sums, matchFunctions(profile, matcher("f"))).map((frame) => sums.width[frame]);
        assert.deepEqual(widths, [...widths].sort((a, b) => b - a));
    }
});

test("thirteen names have thirteen colours, whatever they are", () => {
    for (let i = 0; i < 50; i++) {
        const names = Array.from({ length: 13 }, (_, k) => `gem-${SEED + 13 * i + k}`);
        assert.equal(new Set(placesByName(names, 16).values()).size, 13);
    }
});

test("a table as CSV has plain numbers, the largest first, and quotes what has commas and quotes", () => {
    const groups = [{ name: 'a "b", c', detail: "/a.rb", total: 1.5 }, { name: "d", total: 7 }];
    assert.equal(csv(groups, [["total", "held"]], "total"), 'held,name,where\r\n7,d,\r\n1.5,"a ""b"", c",/a.rb\r\n');
});
