// tree.js - the trees that are drawn: of frames as they call each other, folded or not; of what allocates, with its callers
// below it; and of one function, its callers and what it calls.
//
// Each is { frameCount, frameParent, children, token, nameOf(frame), heads(frame) }, with sums { self, net, width } by frame.
// Frame 0 is the root, and a parent's number is below those of its children. A token says what a frame stands for: the number
// of a function, or below 0 a fold (folds.js). heads: of the folds that the frame stands for. Those made of a tree have
// standsFor(frame), the frames of that tree, and amountsOf(frame), those whose amounts it has; zoomed is where the path leads.

import { ABOVE, foldName, gemName, gemOfToken } from "./folds.js";
import { buildChildren, functionName } from "./profile.js";

// folds: null, all frames stand for themselves; opened: the heads of the folds that are not folded. placeOf: by frame of the profile,
// that of the tree; first: by frame of the tree, the first one of the profile.
export function callTree(profile, folds, opened) {
    const { frameCount: count, frameParent, frameFunction } = profile;
    const placeOf = new Int32Array(count);
    const parents = [-1], first = [0], token = [-1];
    const known = []; // by frame of the tree, a Map from what is below it: small numbers, which are looked up fast
    for (let frame = 1; frame < count; frame++) {
        const head = headOf(frame);
        const above = placeOf[frameParent[frame]];
        if (head > 0 && headOf(frameParent[frame]) === head) {
            placeOf[frame] = above;
            continue;
        }
        const key = head > 0 ? -head : frameFunction[frame];
        let place = (known[above] ??= new Map()).get(key);
        if (place === undefined) {
            place = parents.length;
            known[above].set(key, place);
            parents.push(above);
            first.push(frame);
            token.push(head > 0 ? folds.token[frame] : frameFunction[frame]);
        }
        placeOf[frame] = place;
    }
    const tree = finished(profile, { parents, token });
    const folded = (frame) => frame > 0 && token[frame] < 0;
    return {
        ...tree,
        placeOf,
        first,
        nameOf: (frame) => (folded(frame) ? foldName(profile, folds, folds.head[first[frame]]) : tree.nameOf(frame)),
        heads: (frame) => (folded(frame) ? [folds.head[first[frame]]] : []),
    };

    function headOf(frame) {
        return folds && !opened.has(folds.head[frame]) ? folds.head[frame] : 0;
    }
}

// Of the sums of the profile's frames.
export function callSums(profile, tree, sums) {
    const self = new Float64Array(tree.frameCount), width = new Float64Array(tree.frameCount);
    for (let frame = 0; frame < profile.frameCount; frame++) {
        self[tree.placeOf[frame]] += sums.self[frame];
        width[tree.placeOf[frame]] += Math.abs(sums.self[frame]);
    }
    const own = width.slice();
    const net = self.slice();
    for (let frame = tree.frameCount - 1; frame > 0; frame--) {
        net[tree.frameParent[frame]] += net[frame];
        width[tree.frameParent[frame]] += width[frame];
    }
    return { self, net, width, own };
}

// What allocates is at the top, and below each frame are those that called it.
export function callerTree(profile, tree, sums, path) {
    const stacks = [];
    for (let frame = 1; frame < tree.frameCount; frame++) if (sums.own[frame] > 0) stacks.push(frame);
    const amounts = { net: sums.self, width: sums.own };
    const grown = grow(profile, tree, amounts, { token: -1, stacks: stacks.map((frame) => [frame, frame]), next: toCaller(tree), path });
    grown.sums.net[0] = sums.net[0];
    grown.sums.width[0] = sums.width[0]; // with what has no stack
    return grown;
}

// One function: { callers, callees }, each with it as frame 0.
export function sandwich(profile, tree, sums, token) {
    const outermost = outermostOf(tree, token);
    const amounts = { net: sums.net, width: sums.width };
    const stacks = outermost.map((frame) => [frame, frame]);
    const { start, list } = tree.children;
    return {
        callers: grow(profile, tree, amounts, { token, stacks: stacks.map(([frame, of]) => [tree.frameParent[frame], of]), next: toCaller(tree), path: [] }),
        callees: grow(profile, tree, amounts, {
            token, path: [],
            stacks: outermost.flatMap((frame) => callees(frame)),
            next: callees,
            whole: outermost,
        }),
    };

    function callees(frame) {
        return [...list.subarray(start[frame], start[frame + 1])].map((below) => [below, below]);
    }
}

// Frames with that token, and no such frame above them.
export function outermostOf(tree, token) {
    const within = new Uint8Array(tree.frameCount);
    const found = [];
    for (let frame = 1; frame < tree.frameCount; frame++) {
        within[frame] = within[tree.frameParent[frame]];
        if (!within[frame] && tree.token[frame] === token) {
            within[frame] = 1;
            found.push(frame);
        }
    }
    return found;
}

const toCaller = (tree) => (frame, of) => [[tree.frameParent[frame], of]];

// ---- trees that are made as far as they are seen ----

const NARROWEST = 1 / 2000; // of what is zoomed to, as in flame.js

// Level by level: a frame of the new tree stands for frames of the old one with the same token, each with the frame whose amounts
// it has. next(frame, of): the frames below these. Only what is wide enough gets frames below it, and what is on the path.
function grow(profile, tree, amounts, { token, stacks, next, path, whole }) {
    const made = { parents: [-1], token: [token], members: [stacks], net: [0], width: [0], depth: [0] };
    for (const of of whole ?? stacks.map((one) => one[1])) {
        made.net[0] += amounts.net[of];
        made.width[0] += amounts.width[of];
    }
    let least = made.width[0] * NARROWEST;
    const onPath = [0];
    for (let frame = 0; frame < made.parents.length; frame++) {
        const below = frame === 0 ? stacks : made.members[frame].flatMap(([at, of]) => next(at, of));
        const depth = made.depth[frame];
        const ahead = onPath[depth] === frame && depth < path.length;
        if (!ahead && made.width[frame] < least) continue;
        const known = new Map();
        for (const [at, of] of below) {
            if (at <= 0) continue;
            const key = tree.token[at];
            let place = known.get(key);
            if (place === undefined) {
                place = made.parents.length;
                known.set(key, place);
                made.parents.push(frame);
                made.token.push(key);
                made.members.push([]);
                made.net.push(0);
                made.width.push(0);
                made.depth.push(depth + 1);
            }
            made.members[place].push([at, of]);
            made.net[place] += amounts.net[of];
            made.width[place] += amounts.width[of];
        }
        if (ahead && known.has(path[depth])) {
            onPath[depth + 1] = known.get(path[depth]);
            least = made.width[onPath[depth + 1]] * NARROWEST;
        }
    }
    const net = Float64Array.from(made.net);
    return {
        ...finished(profile, made),
        heads: (frame) => (frame === 0 || made.token[frame] >= 0 ? [] : [...new Set(standsFor(frame).flatMap((at) => tree.heads(at)))]),
        standsFor,
        amountsOf: (frame) => made.members[frame].map(([, of]) => of),
        zoomed: onPath.at(-1),
        sums: { self: new Float64Array(net.length), net, width: Float64Array.from(made.width) },
    };

    function standsFor(frame) {
        return made.members[frame].map(([at]) => at);
    }
}

// The tokens from the root to a frame.
export function pathTo(tree, frame) {
    const path = [];
    for (; frame > 0; frame = tree.frameParent[frame]) path.unshift(tree.token[frame]);
    return path;
}

function finished(profile, { parents, token }) {
    return {
        frameCount: parents.length,
        frameParent: Int32Array.from(parents),
        token: Int32Array.from(token),
        children: buildChildren(parents),
        nameOf: (frame) => (frame === 0 && token[0] === -1 ? "all" : tokenName(profile, token[frame])),
    };
}

export function tokenName(profile, token) {
    if (token >= 0) return functionName(profile, token);
    return token === ABOVE ? "frames above the application" : `frames of ${gemName(profile.strings[gemOfToken(token)])}`;
}
