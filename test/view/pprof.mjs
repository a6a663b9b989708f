// pprof.mjs - writes profiles for the tests: what a test says in objects, as pprof's bytes.
//
//     encode({ types: [["inuse_space", "bytes"]], comments: [], time: 0,
//              samples: [{ stack: [frame, ...], values: [1], labels: { class: "String", gc_age: [4, "gcs"] } }] })
//
// A stack is outermost first; a frame is [name, file, line] or "name". Names may be Buffers, of any bytes.

import { gzipSync } from "node:zlib";

export function encode({ types, samples, comments = [], time = 0 }) {
    const strings = new Interner();
    strings.number("");
    const functions = new Interner();
    const locations = new Interner();
    const parts = [];

    for (const [type, unit] of types) parts.push(bytes(1, number(1, strings.number(type)), number(2, strings.number(unit))));
    for (const sample of samples) parts.push(bytes(2, ...encodeSample(sample, { strings, functions, locations })));
    locations.all.forEach(([f, line], i) => parts.push(bytes(4, number(1, i + 1), bytes(4, number(1, f), number(2, line)))));
    functions.all.forEach(([name, file], i) => parts.push(bytes(5, number(1, i + 1), number(2, name), number(4, file))));
    const remarks = comments.map((comment) => number(13, strings.number(comment)));
    strings.all.forEach((text) => parts.push(bytes(6, Buffer.from(text))));
    parts.push(number(9, BigInt(time) * 1000000n), ...remarks);
    return gzipSync(Buffer.concat(parts));
}

function encodeSample({ stack, values, labels = {} }, { strings, functions, locations }) {
    const ids = stack.map((frame) => {
        const [name, file = "", line = 0] = Array.isArray(frame) ? frame : [frame];
        const f = functions.number([strings.number(name), strings.number(file)]) + 1;
        return number(1, locations.number([f, line]) + 1);
    });
    const texts = Object.entries(labels).map(([key, value]) => {
        const said = Array.isArray(value)
            ? [number(3, value[0]), number(4, strings.number(value[1]))]
            : [number(2, strings.number(value))];
        return bytes(3, number(1, strings.number(key)), ...said);
    });
    return [...ids.reverse(), ...values.map((value) => number(2, value)), ...texts];
}

// Things by their content, numbered from 0.
class Interner {
    all = [];
    #numbers = new Map();

    number(thing) {
        const key = Buffer.isBuffer(thing) ? `bytes ${thing.toString("hex")}` : JSON.stringify(thing);
        if (!this.#numbers.has(key)) {
            this.#numbers.set(key, this.all.length);
            this.all.push(thing);
        }
        return this.#numbers.get(key);
    }
}

function varint(value) {
    const out = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
    out.push(Number(rest));
    return Buffer.from(out);
}

function number(field, value) {
    return Buffer.concat([varint(field << 3), varint(value)]);
}

function bytes(field, ...parts) {
    const content = Buffer.concat(parts);
    return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
}
