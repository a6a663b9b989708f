// source.js - a function's file, where the page has it, with what each line holds.

import { element } from "./dom.js";
import { formatValue, formatChange } from "./format.js";
import { fileName } from "./profile.js";

// What was allocated at each line of a file: Map of line to { self, total }. A stack that passes a
// line twice counts once.
export function sumLines(profile, file, type, chosen) {
    const { parent, function: functions, line } = profile.nodes;
    const values = profile.rows.values[type];
    const lines = new Map();
    for (let row = 0; row < profile.rowCount; row++) {
        if (!chosen[row] || values[row] === 0) continue;
        const seen = new Set();
        const innermost = profile.rows.node[row];
        for (let node = innermost; node >= 0; node = parent[node]) {
            if (profile.functions.file[functions[node]] !== file || seen.has(line[node])) continue;
            seen.add(line[node]);
            const sum = lines.get(line[node]) ?? { self: 0, total: 0 };
            sum.total += values[row];
            if (node === innermost) sum.self += values[row];
            lines.set(line[node], sum);
        }
    }
    return lines;
}

// Of the lines that a function was at, the one that holds most.
export function heaviestLine(profile, f, lines) {
    const { function: functions, line } = profile.nodes;
    let best = 0;
    const held = (number) => Math.abs(lines.get(number)?.total ?? 0);
    for (let node = 0; node < profile.nodeCount; node++) {
        if (functions[node] === f && (best === 0 || held(line[node]) > held(best))) best = line[node];
    }
    return best;
}

// Shows the lines of the file that the page has, and scrolls to one.
export function drawSource(place, profile, { file, line, lines, unit, signed }) {
    const text = (value) => (value === 0 ? "" : signed ? formatChange(value, unit) : formatValue(value, unit));
    const path = fileName(profile, file);
    const source = profile.sources.find((one) => one.file === file);
    if (!source) {
        place.replaceChildren(element("p", { class: "quiet" }, noSource(path)));
        return;
    }
    const body = element("tbody");
    source.blocks.forEach(([first, texts], block) => {
        if (block > 0) body.append(element("tr", { class: "gap" }, element("td", { colspan: "4" }, "⋯")));
        texts.forEach((one, i) => body.append(lineRow(first + i, one, lines.get(first + i), text, line)));
    });
    const head = element("tr", {}, ...["self", "with calls", "line", "source"].map((name) =>
        element("th", { scope: "col" }, name)));
    const table = element("table", { class: "source" }, element("thead", {}, head), body);
    const note = source.changed ? `${path} (changed since the profile was taken)` : path;
    const pane = element("div", { class: "scroll", tabindex: "0" }, table);
    place.replaceChildren(element("p", { class: "quiet" }, note), pane);
    const current = body.querySelector(".current");
    if (current) pane.scrollTop = current.offsetTop - pane.clientHeight / 2;
}

function lineRow(number, text, sum, format, current) {
    return element("tr", { class: number === current ? "current" : sum ? "used" : undefined },
        element("td", { class: "number" }, sum ? format(sum.self) : ""),
        element("td", { class: "number" }, sum ? format(sum.total) : ""),
        element("td", { class: "number" }, String(number)),
        element("td", { class: "code" }, text));
}

function noSource(path) {
    return path === "" ? "This frame has no file." : `The page has no source of this file (heapprof view --sources=DIR): ${path}`;
}
