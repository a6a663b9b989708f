// The page's sums, against ones made stack by stack from the same random profile. Each run has profiles of its own;
// SEED=N has those again that a run with that seed had.

import assert from "node:assert/strict";
import { test } from "node:test";

import { definitions, groupings } from "./page/groups.js";
import { neighbour } from "./page/keys.js";
import { readProfile } from "./page/profile.js";
import { matcher, matchFunctions, sumFound } from "./page/search.js";
import { sumLines } from "./page/source.js";
import { chooseRows, sumFrames } from "./page/sums.js";

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
        files: { name: [6, 7], gem: [0, 8], own: [1, 0] }, functions, nodes, rows, sources: [],
        labels: { key: [1, 1, 2], text: [4, 5, 0], number: [0, 0, 8], unit: [0, 0, 3] },
        sets: [[], [0, 2], [1]],
    };
    return { profile: readProfile(json), list };
}

const sum = (rows) => rows.reduce((all, row) => all + row.value, 0);

function look(profile, filters = [], zoomed = 0) {
    const chosen = chooseRows(profile, filters, zoomed);
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
                .filter(({ own }) => (own ? `a.rb:${own.line}` : "(none of the application)") === line.name);
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
