// folds.js - which frames of a profile stand together as one, so that the application is seen first.
//
//     main > Puma > Rack > Rails > Cart#add > ActiveRecord > Array#map
//     [2 of puma, rack, ...     ] > Cart#add > [2 of activerecord  ]
//
// Above the application: all frames between it and the next frame of the application above. Elsewhere: frames of one gem that call
// each other. A frame of Ruby's own or of C belongs to the gem that calls it. What would be a single frame is not folded.
// Without an application nothing is folded. A fold is named by its head, the lowest number of its frames.

export const ABOVE = -1; // its token (tree.js); that of a gem is tokenOfGem

export const tokenOfGem = (gem) => -2 - gem;
export const gemOfToken = (token) => -2 - token;

// head: by frame, the head of its fold, or 0; token: by frame, that of the fold; sizes: Map of heads to Maps of gems (strings) to how
// many of the frames are theirs.
export function findFolds(profile) {
    const { frameCount, frameParent, frameFunction, functions, files } = profile;
    const own = new Uint8Array(frameCount); // frames that stay as they are: those of the application, and values of a label
    const gem = new Int32Array(frameCount);
    const token = new Int32Array(frameCount);
    for (let frame = 1; frame < frameCount; frame++) {
        const file = functions.file[frameFunction[frame]];
        const above = frameParent[frame];
        own[frame] = files.own[file] || frameFunction[frame] >= profile.firstRoot ? 1 : 0;
        const foreign = profile.strings[files.gem[file]].startsWith("(");
        gem[frame] = foreign && above > 0 && !own[above] ? gem[above] : files.gem[file];
    }
    const aboveOwn = new Uint8Array(frameCount);
    for (let frame = frameCount - 1; frame > 0; frame--) {
        if (files.own[functions.file[frameFunction[frame]]] || aboveOwn[frame]) aboveOwn[frameParent[frame]] = 1;
        token[frame] = aboveOwn[frame] ? ABOVE : tokenOfGem(gem[frame]);
    }
    const head = aboveOwn[0] ? joinFrames(profile, own, token) : new Int32Array(frameCount);
    return { head, token, sizes: countGems(profile, head, gem) };
}

function joinFrames(profile, own, token) {
    const { frameCount, frameParent, frameFunction, strings, functions } = profile;
    const place = new Int32Array(frameCount); // the first frame that stands where this one does
    const head = new Int32Array(frameCount);
    const chain = new Uint8Array(frameCount); // by head: one of its frames calls another one
    const known = new Map();
    const span = functions.name.length + strings.length + 2;
    for (let frame = 1; frame < frameCount; frame++) {
        const above = frameParent[frame];
        if (!own[frame] && above > 0 && !own[above] && token[above] === token[frame]) {
            place[frame] = head[frame] = head[above];
            chain[head[frame]] = 1;
            continue;
        }
        const key = place[above] * span + (own[frame] ? frameFunction[frame] : functions.name.length - token[frame]);
        if (!known.has(key)) known.set(key, frame);
        place[frame] = known.get(key);
        if (!own[frame]) head[frame] = place[frame];
    }
    return head.map((one) => (chain[one] ? one : 0));
}

function countGems(profile, head, gem) {
    const sizes = new Map();
    for (let frame = 1; frame < profile.frameCount; frame++) {
        if (head[frame] === 0) continue;
        if (!sizes.has(head[frame])) sizes.set(head[frame], new Map());
        const gems = sizes.get(head[frame]);
        gems.set(gem[frame], (gems.get(gem[frame]) ?? 0) + 1);
    }
    return sizes;
}

// "14 frames of rack", "87 frames of actionpack, rack and others". Gems come before what is Ruby's.
export function foldName(profile, folds, head) {
    const frames = new Map();
    for (const [gem, count] of folds.sizes.get(head)) {
        const name = gemName(profile.strings[gem]);
        frames.set(name, (frames.get(name) ?? 0) + count);
    }
    const count = [...frames.values()].reduce((sum, one) => sum + one, 0);
    const names = [...frames].sort((a, b) => (a[0] === RUBY ? 1 : 0) - (b[0] === RUBY ? 1 : 0) || b[1] - a[1]).map(([name]) => name);
    return `${count} frames of ${names.slice(0, 2).join(names.length > 2 ? ", " : " and ")}${names.length > 2 ? " and others" : ""}`;
}

const RUBY = "Ruby";

// "rack-3.1.2" is rack; what is in parentheses is no gem.
export function gemName(gem) {
    return gem.startsWith("(") ? RUBY : gem.replace(/-\d[\w.]*(-[\w-]+)?$/, "");
}
