// sums.js - what each frame holds, of the rows that are looked at.
//
// Of a difference a value may be below 0. A frame is as wide as what changed in it, grown or shrunk:
// its own change without the sign, and the widths of its children. So a frame where as much went as
// came is wide, and pale.

// An array by row: 1 if every filter lets it through and its frame is inside (null: any frame is), else 0.
export function chooseRows(profile, filters, inside) {
    const chosen = new Uint8Array(profile.rowCount);
    for (let row = 0; row < profile.rowCount; row++) {
        const node = profile.rows.node[row];
        if (inside && !(node >= 0 && inside[profile.nodeFrame[node]])) continue;
        chosen[row] = filters.every((filter) => filter.keeps(row)) ? 1 : 0;
    }
    return chosen;
}

// self: of the frame itself; net: with all below it; width: as above.
export function sumFrames(profile, type, chosen) {
    const self = new Float64Array(profile.frameCount);
    const values = profile.rows.values[type];
    for (let row = 0; row < profile.rowCount; row++) {
        if (chosen[row]) self[rowFrame(profile, row)] += values[row];
    }
    const net = self.slice();
    const width = self.map(Math.abs);
    for (let frame = profile.frameCount - 1; frame > 0; frame--) {
        net[profile.frameParent[frame]] += net[frame];
        width[profile.frameParent[frame]] += width[frame];
    }
    return { self, net, width };
}

export function rowFrame(profile, row) {
    const node = profile.rows.node[row];
    return node < 0 ? 0 : profile.nodeFrame[node];
}

// An array by frame of a tree: 1 for that frame and each below it, else 0.
export function insideOf(tree, top) {
    const inside = new Uint8Array(tree.frameCount);
    inside[top] = 1;
    for (let frame = top + 1; frame < tree.frameCount; frame++) inside[frame] = inside[tree.frameParent[frame]];
    return inside;
}
