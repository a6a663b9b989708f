// source.js - a function's file, where the page has it, with what each line holds.

import { drawCode } from "./code.js";
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
    drawCode(place, {
        path: fileName(profile, file),
        source: profile.sources.find((one) => one.file === file),
        command: "heapprof view",
        heads: ["self", "with calls"],
        cells: (number) => {
            const sum = lines.get(number);
            return sum ? [text(sum.self), text(sum.total)] : ["", ""];
        },
        current: line,
    });
}
