// profile.js - the profile as the page computes with it. The JSON it comes from: README.md.
//
// Two trees of frames, each in arrays, where a parent's number is below those of its children:
//
//     nodes    a function at a line, as in the file
//     frames   a function, whatever the line: what the flame graph draws. nodeFrame leads there
//
// Frame 0 is the root. A row is what the profile says of one node with one set of labels.

export function readProfile(json) {
    const profile = {
        ...json,
        nodeCount: json.nodes.parent.length,
        rowCount: json.rows.node.length,
        keys: labelKeys(json),
        variances: json.types.map(([name]) => json.types.findIndex(([other]) => other === varianceName(name))),
        ...buildFrames(json),
    };
    profile.children = buildChildren(profile.frameParent);
    return profile;
}

export function functionName(profile, f) {
    return profile.strings[profile.functions.name[f]];
}

export function shortFile(profile, file) {
    return profile.strings[profile.files.short[file]];
}

export function fileName(profile, file) {
    return profile.strings[profile.files.name[file]];
}

// A frame's children are list[start[frame]] to list[start[frame + 1]].
export function buildChildren(parents) {
    const start = new Int32Array(parents.length + 2);
    for (let i = 1; i < parents.length; i++) start[parents[i] + 2]++;
    for (let i = 2; i < start.length; i++) start[i] += start[i - 1];
    const list = new Int32Array(parents.length);
    for (let i = 1; i < parents.length; i++) list[start[parents[i] + 1]++] = i;
    return { start, list };
}

function buildFrames(json) {
    const { parent, function: functions } = json.nodes;
    const nodeFrame = new Int32Array(parent.length);
    const frameParent = [-1];
    const frameFunction = [-1];
    const known = new Map();
    const functionCount = json.functions.name.length + 1;

    for (let i = 0; i < parent.length; i++) {
        const above = parent[i] < 0 ? 0 : nodeFrame[parent[i]];
        const key = above * functionCount + functions[i];
        let frame = known.get(key);
        if (frame === undefined) {
            frame = frameParent.length;
            known.set(key, frame);
            frameParent.push(above);
            frameFunction.push(functions[i]);
        }
        nodeFrame[i] = frame;
    }
    return {
        nodeFrame,
        frameParent: Int32Array.from(frameParent),
        frameFunction: Int32Array.from(frameFunction),
        frameCount: frameParent.length,
    };
}

// Of "inuse_space" the type "inuse_variance", if a file has it, says how far it may be off.
function varianceName(name) {
    return name.endsWith("_space") && name.replace(/_space$/, "_variance");
}

// Whether a type is what a profile shows, and not said of another one.
export function shownType(profile, type) {
    return !profile.variances.includes(type);
}

// The labels' keys, each with its number in strings.
function labelKeys(json) {
    return [...new Set(json.labels.key)].map((key) => ({ key, name: json.strings[key] }));
}
