// graph.js - the dominator tree of a dump, as the flame graph takes a profile's frames. The JSON: README.md.
//
// A frame is a pattern: objects of one class that one label leads to. Frame 0 is the root of all roots. What the page
// leaves out, being small, is in what its dominator retains, and in no frame of its own.

import { buildChildren } from "./profile.js";

export function readTree({ tree }) {
    return {
        ...tree,
        frameFunction: tree.name.map((_, frame) => (frame === 0 ? -1 : frame)),
        nameOf: (frame) => (frame === 0 ? "all" : tree.name[frame]),
        heads: () => [],
        frameParent: tree.parent,
        frameCount: tree.name.length,
        children: buildChildren(tree.parent),
    };
}

// In the form of sums.js: a frame is as wide as what it retains.
export function treeSums(tree) {
    return { self: tree.bytes, net: tree.retained, width: Float64Array.from(tree.retained) };
}

// What of a frame's width is in no frame of this page.
export function leftOut(tree, frame) {
    const { start, list } = tree.children;
    let left = tree.retained[frame] - tree.bytes[frame];
    for (const child of list.subarray(start[frame], start[frame + 1])) left -= tree.retained[child];
    return left;
}
