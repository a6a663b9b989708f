// search.js - what a search finds: functions by name and file, as a regular expression where the
// text is one, otherwise as it stands. Letters' case does not matter.

import { fileName, functionName } from "./profile.js";

// A function of a text; null: nothing is searched for.
export function matcher(term) {
    if (term === "") return null;
    let expression;
    try {
        expression = new RegExp(term, "i");
    } catch {
        const plain = term.toLowerCase();
        return (text) => text.toLowerCase().includes(plain);
    }
    return (text) => expression.test(text);
}

// An array by function: 1 if it is found, else 0. Many functions share a name or a file.
export function matchFunctions(profile, matches) {
    const { functions } = profile;
    const files = Uint8Array.from(profile.files.name, (_, file) => (matches(fileName(profile, file)) ? 1 : 0));
    return Uint8Array.from(functions.name, (_, f) => (files[functions.file[f]] || matches(functionName(profile, f)) ? 1 : 0));
}

// What the found frames hold together, with what is below them, counted once; and how many they are.
export function sumFound(profile, sums, found) {
    const below = new Uint8Array(profile.frameCount);
    let sum = 0;
    let count = 0;
    for (let frame = 1; frame < profile.frameCount; frame++) {
        const above = below[profile.frameParent[frame]];
        const is = found[profile.frameFunction[frame]];
        below[frame] = above | is;
        if (!is || sums.width[frame] === 0) continue;
        count++;
        if (!above) sum += sums.net[frame];
    }
    return { sum, count };
}

const LISTED = 1000;

// The found frames, the widest first, and of more than LISTED those alone.
export function listFound(profile, sums, found) {
    const list = [];
    for (let frame = 1; frame < profile.frameCount; frame++) {
        if (found[profile.frameFunction[frame]] && sums.width[frame] > 0) list.push(frame);
    }
    const least = list.length > LISTED ? Float64Array.from(list, (frame) => sums.width[frame]).sort().at(-LISTED) : 0;
    return list.filter((frame) => sums.width[frame] >= least).sort((a, b) => sums.width[b] - sums.width[a] || a - b).slice(0, LISTED);
}
