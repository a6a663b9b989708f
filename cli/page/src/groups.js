// groups.js - by what the table groups, and how much each group has.
//
// Of one kind a group is found in stacks: function, file, gem. It has what its frames hold
// themselves, and what is held below them, counted once where a stack passes twice.
// Of the other kind a row belongs to one group: class, line of the application, label.
//
// Both give [{ name, hint, detail, self, total, keeps, function, line }]: keeps(row) is the filter that
// choosing the group makes; hint and detail say where it is, in short and in full; function, where
// there is one, is the function the group stands for, and line the line; last: it is the rest.

import { fileName, functionName, shortFile } from "./profile.js";
import { rowFrame } from "./sums.js";

const NONE = -1;

// What the table can group by, in the order of its menu.
export function groupings(profile) {
    const label = ({ key, name }) => labelGrouping(profile, key, name);
    const byClass = profile.keys.filter(({ name }) => name === "class").map(label);
    const others = profile.keys.filter(({ name }) => name !== "class").map(label);
    const { definition, native } = definitions(profile);
    return [
        stackGrouping(profile, "function", (f) => definition[f], (f) => describeFunction(profile, f, native[f])),
        ...byClass,
        stackGrouping(profile, "file", (f) => profile.functions.file[f], (file) => ({
            name: shortFile(profile, file) || "(no file)",
            detail: fileName(profile, file),
        })),
        stackGrouping(profile, "gem", (f) => profile.files.gem[profile.functions.file[f]], (gem) => ({
            name: profile.strings[gem],
        })),
        appGrouping(profile),
        ...others,
    ];
}

// A function is its name and the file that defines it, as in heapprof top: definition[f] is the first function
// of the profile that is the same. A C function begins at no line, and is its name alone: its file is its caller's.
export function definitions(profile) {
    const { name, file, line } = profile.functions;
    const known = line.some((begin) => begin > 0);
    const native = name.map((_, f) => known && line[f] === 0 && !/^<[a-z]/i.test(functionName(profile, f)));
    const first = new Map();
    const definition = name.map((_, f) => {
        const key = native[f] ? `${name[f]}` : `${name[f]} ${file[f]}`;
        if (!first.has(key)) first.set(key, f);
        return first.get(key);
    });
    return { definition, native };
}

function describeFunction(profile, f, native) {
    const file = native ? "" : fileName(profile, profile.functions.file[f]);
    const line = profile.functions.line[f];
    return {
        name: functionName(profile, f),
        hint: shortFile(profile, profile.functions.file[f]),
        detail: line > 0 ? `${file}:${line}` : file,
        function: f,
    };
}

// ---- groups found in stacks ----

function stackGrouping(profile, name, keyOf, describe) {
    let found;
    const prepare = () => (found ??= markStacks(profile, keyOf));
    return {
        name,
        nested: true,
        list({ sums }) {
            const { keys, again } = prepare();
            const self = new Map();
            const total = new Map();
            for (let frame = 1; frame < profile.frameCount; frame++) {
                if (sums.width[frame] === 0) continue;
                add(self, keys[frame], sums.self[frame]);
                if (!again[frame]) add(total, keys[frame], sums.net[frame]);
            }
            return [...total].map(([key, sum]) => ({
                ...describe(key),
                self: self.get(key),
                total: sum,
                keeps: keepsStack(profile, keys, key),
            }));
        },
    };
}

// Each frame's group, and whether a frame above it is of the same one.
function markStacks(profile, keyOf) {
    const { start, list } = profile.children;
    const keys = profile.frameFunction.map((f) => (f < 0 ? NONE : keyOf(f)));
    const again = new Uint8Array(profile.frameCount);
    const above = new Map();
    const todo = [0];
    while (todo.length > 0) {
        const frame = todo.pop();
        if (frame < 0) {
            add(above, keys[~frame], -1);
            continue;
        }
        again[frame] = above.get(keys[frame]) > 0 ? 1 : 0;
        add(above, keys[frame], 1);
        todo.push(~frame);
        for (let i = start[frame]; i < start[frame + 1]; i++) todo.push(list[i]);
    }
    return { keys, again };
}

function keepsStack(profile, keys, key) {
    let within;
    return (row) => {
        within ??= markBelow(profile, (frame) => keys[frame] === key);
        return within[rowFrame(profile, row)] === 1;
    };
}

// The frames that fulfil is, and all below them: 1, the others 0.
export function markBelow(profile, is) {
    const within = new Uint8Array(profile.frameCount);
    for (let frame = 1; frame < profile.frameCount; frame++) {
        within[frame] = within[profile.frameParent[frame]] || is(frame) ? 1 : 0;
    }
    return within;
}

// ---- groups of rows ----

// describe is told the key, and the largest row that has it.
function rowGrouping(profile, name, keyOfRow, describe) {
    return {
        name,
        nested: false,
        list({ type, chosen }) {
            const values = profile.rows.values[type];
            const total = new Map();
            const largest = new Map();
            for (let row = 0; row < profile.rowCount; row++) {
                if (!chosen[row] || values[row] === 0) continue;
                const key = keyOfRow(row);
                add(total, key, values[row]);
                if (!(Math.abs(values[row]) <= Math.abs(values[largest.get(key)]))) largest.set(key, row);
            }
            return [...total].map(([key, sum]) => ({
                ...describe(key, largest.get(key)),
                self: sum,
                total: sum,
                keeps: (row) => keyOfRow(row) === key,
            }));
        },
    };
}

function labelGrouping(profile, key, name) {
    const bySet = profile.sets.map((set) => set.find((l) => profile.labels.key[l] === key) ?? NONE);
    const keyOfRow = (row) => bySet[profile.rows.set[row]];
    return rowGrouping(profile, name, keyOfRow, (label) => ({
        name: label === NONE ? `(no ${name})` : labelText(profile, label),
    }));
}

export function labelText(profile, label) {
    const { text, number, unit } = profile.labels;
    return profile.strings[text[label]] || `${number[label]} ${profile.strings[unit[label]]}`.trim();
}

// The innermost frame of the application's own code, by line. Functions may share one: what most of it is of names it. The VM's own
// tables have a row each: the line at which one of them happened to grow does not keep it alive.
function appGrouping(profile) {
    const { parent, function: functions, line } = profile.nodes;
    const own = new Int32Array(profile.nodeCount);
    const places = [];
    for (let node = 0; node < profile.nodeCount; node++) {
        const file = profile.functions.file[functions[node]];
        own[node] = profile.files.own[file] ? node : parent[node] < 0 ? NONE : own[parent[node]];
        places.push(own[node] === node ? `${file}:${line[node]}` : places[own[node]]);
    }
    const ownOfRow = (row) => (profile.rows.node[row] < 0 ? NONE : own[profile.rows.node[row]]);
    const tables = profile.sets.map((set) => vmTable(profile, set));
    const place = (row) => tables[profile.rows.set[row]] ?? places[ownOfRow(row)];
    const describe = (_, row) => {
        const table = tables[profile.rows.set[row]];
        return table ? { name: table, detail: `A table of the VM: ${table}` } : describeLine(profile, ownOfRow(row));
    };
    return rowGrouping(profile, "app line", place, describe);
}

// "[VM] symbols", of rows whose class or owner is that; undefined: of others.
function vmTable(profile, set) {
    const { key, text } = profile.labels;
    const label = set.find((one) => ["class", "owner"].includes(profile.strings[key[one]]) && profile.strings[text[one]].startsWith("[VM] "));
    return label === undefined ? undefined : profile.strings[text[label]];
}

function describeLine(profile, node) {
    if (node === NONE) return { name: "(no line of the application)", last: true };
    const f = profile.nodes.function[node];
    const file = profile.functions.file[f];
    const line = profile.nodes.line[node];
    const behind = line > 0 ? `:${line}` : " (line unknown)";
    return {
        name: `${shortFile(profile, file)}${behind}`,
        hint: functionName(profile, f),
        detail: `${functionName(profile, f)} ${fileName(profile, file)}${behind}`,
        function: f,
        line,
    };
}

function add(sums, key, value) {
    sums.set(key, (sums.get(key) ?? 0) + value);
}
