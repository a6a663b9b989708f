// empty.js - why a profile shows nothing or little, and what to do.

import { formatValue } from "./format.js";
import { fullTypeName } from "./names.js";

const FEW = 20; // samples, below which a figure is off by half and more

// What there is to say; "": nothing. filtered: filters or a zoom are set; width: of what is shown.
export function explainEmpty(profile, { type, width, filtered }) {
    if (width > 0) return few(profile);
    const name = fullTypeName(profile.types[type][0]);
    if (filtered) return `Nothing is left of “${name}” by what you chose. Reset shows all again.`;
    const others = profile.types.map(([other]) => other).filter((other, i) => profile.rows.values[i].some((value) => value !== 0) && !other.endsWith("_variance"));
    if (profile.old !== null && others.length === 0) return "Nothing has changed between the two profiles: no sample came, and none went.";
    if (others.length > 0) return `The profile has nothing of “${name}”. It has: ${others.map(fullTypeName).join("; ")}.`;
    return `This profile has no samples. ${sampling(profile)}The program has allocated less than that since the profiler started, or all of it is ` +
        "gone. To see small programs, sample more closely: heapprof run --interval=4k COMMAND, or RUBY_HEAPPROF=interval=4k. To see " +
        "where garbage comes from, choose “Memory allocated so far”.";
}

function few(profile) {
    const live = Number(fact(profile, "samples")?.match(/^(\d+) live/)?.[1] ?? FEW);
    if (profile.old !== null || live >= FEW) return "";
    const samples = live === 1 ? "1 sample is" : `${live} samples are`;
    return `Only ${samples} alive, so every figure is rough. ${sampling(profile)}Sample more closely for a program this small: ` +
        "heapprof run --interval=4k COMMAND.";
}

function sampling(profile) {
    const interval = Number(fact(profile, "interval")?.match(/^(\d+) bytes/)?.[1] ?? 0);
    return interval > 0 ? `It has one sample for every ${formatValue(interval, "bytes")} allocated, on average. ` : "";
}

function fact(profile, name) {
    return profile.comments.find((comment) => comment.startsWith(`${name}: `))?.slice(name.length + 2);
}
