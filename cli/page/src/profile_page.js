// profile_page.js - the page of `heapprof view`: its state, and what is drawn anew when that changes.
//
//     profile --filters, zoom--> chosen rows --type--> sums of frames --> flame graph, table, bars
//
// Everything is computed from the profile each time: a hundred thousand rows take milliseconds.

import { drawBar } from "./bars.js";
import { changeColour, FOUND, NEUTRAL, originColour } from "./colours.js";
import { json } from "./data.js";
import { byId, element } from "./dom.js";
import { createFlame } from "./flame.js";
import { formatChange, formatShare, formatValue } from "./format.js";
import { groupings } from "./groups.js";
import { listenToKeys } from "./keys.js";
import { fileName, functionName, readProfile, shownType } from "./profile.js";
import { matcher, matchFunctions, sumFound } from "./search.js";
import { drawSource, heaviestLine, sumLines } from "./source.js";
import { chooseRows, sumFrames } from "./sums.js";
import { drawTable } from "./table.js";

const profile = readProfile(json);
const groups = groupings(profile);
const state = {
    type: profile.default,
    group: groups[0],
    by: "self",
    filters: [],  // [{ text, keeps }]
    zoomed: 0,    // a frame
    search: "",
    selected: 0,  // a frame
    looked: null, // whose source is shown: { function, line }; marked: its frames have a colour of their own
};
let now; // what the state leads to: recompute

const flame = createFlame(byId("flame"), {
    describe: (data) => (data.rest ? data.name : describeFrame(data.frame)),
    colour: (data) => frameColour(data),
    onZoom: (data) => zoom(data.frame),
    onSelect: (data) => select(data.frame),
});

// ---- from the state to numbers ----

function recompute() {
    const chosen = chooseRows(profile, state.filters, state.zoomed);
    const sums = sumFrames(profile, state.type, chosen);
    const values = profile.rows.values[state.type];
    const matches = matcher(state.search);
    const found = matches && matchFunctions(profile, matches);
    now = {
        chosen,
        sums,
        matches,
        found,
        errors: sumErrors(chosen),
        type: state.type,
        unit: profile.types[state.type][1],
        signed: profile.old !== null || values.some((value) => value < 0),
        whole: state.zoomed === 0 ? sums.width[0] : sumFrames(profile, state.type, chooseRows(profile, state.filters, 0)).width[0],
    };
}

// How far each frame's value may be off, two standard deviations; null: not known. Of a difference what
// stayed was measured by the same samples, so that more would have to be known.
function sumErrors(chosen) {
    const variance = profile.variances[state.type];
    if (variance < 0 || profile.old !== null) return null;
    return sumFrames(profile, variance, chosen).net.map((one) => 2 * Math.sqrt(Math.max(0, one)));
}

function errorText(frame) {
    return now.errors?.[frame] > 0 && !now.signed ? ` ± ${valueText(now.errors[frame])}` : "";
}

function valueText(value) {
    return now.signed ? formatChange(value, now.unit) : formatValue(value, now.unit);
}

function describeFrame(frame) {
    const { sums, whole } = now;
    const numbers = `${valueText(sums.net[frame])}${errorText(frame)}, ${formatShare(sums.net[frame], whole)}`;
    if (frame === 0) return `all: ${numbers}`;
    const f = profile.frameFunction[frame];
    const path = fileName(profile, profile.functions.file[f]);
    return `${functionName(profile, f)}: ${numbers}, self ${valueText(sums.self[frame])}\n${path}`;
}

function frameColour({ frame, rest }) {
    if (frame === 0 || rest) return NEUTRAL;
    const f = profile.frameFunction[frame];
    if (now.found?.[f] || (state.looked?.marked && state.looked.function === f)) return FOUND;
    if (now.signed) return changeColour(now.sums.net[frame] / now.sums.width[frame]);
    const file = profile.functions.file[f];
    if (profile.files.own[file]) return originColour("app", functionName(profile, f));
    const gem = profile.strings[profile.files.gem[file]];
    return gem.startsWith("(") ? originColour("library", functionName(profile, f)) : originColour("gem", gem);
}

// ---- drawing ----

function draw() {
    recompute();
    byId("nothing").hidden = now.sums.width[0] !== 0;
    flame.draw(profile, now.sums, state.zoomed);
    flame.mark(state.selected);
    drawGroups();
    drawAges();
    drawChips();
    drawLooked();
    drawStatus();
}

function drawGroups() {
    drawTable(byId("table"), {
        groups: state.group.list(now),
        columns: state.group.nested ? [["self", "self"], ["total", "with calls"]] : [["total", "held"]],
        by: state.group.nested ? state.by : "total",
        text: valueText,
        whole: now.whole,
        signed: now.signed,
        matches: (group) => !now.matches || now.matches(group.name) || now.matches(group.detail ?? ""),
        onChoose: choose,
        onSort: (by) => change({ by }),
    });
}

// What the memory consists of, if the profile says: the frames that have that value, as they come.
function drawLadder() {
    const type = profile.types.findIndex(([name]) => name === "rss_space");
    if (type < 0) return;
    const sums = sumFrames(profile, type, new Uint8Array(profile.rowCount).fill(1));
    const parts = [];
    for (let frame = 1; frame < profile.frameCount; frame++) {
        if (sums.self[frame] === 0) continue;
        const name = functionName(profile, profile.frameFunction[frame]).replace(/^\[VM\] /, "");
        parts.push({ name, value: sums.self[frame] });
    }
    const signed = profile.old !== null || parts.some((part) => part.value < 0);
    drawBar(byId("ladder"), { title: "In memory (RSS)", parts, unit: "bytes", signed, total: sums.net[0] });
}

function drawAges() {
    const grouping = groups.find((one) => one.name === "gc_age");
    byId("ages").hidden = !grouping;
    if (!grouping) return;
    const age = (group) => (/^\d/.test(group.name) ? parseInt(group.name, 10) : -1);
    const parts = grouping.list(now)
        .map((group) => ({ name: group.name.replace(" gcs", ""), value: group.total, age: age(group) }))
        .filter((part) => part.age >= 0)
        .sort((a, b) => a.age - b.age);
    const total = parts.reduce((sum, part) => sum + part.value, 0);
    drawBar(byId("ages"), { title: "By age, in garbage collections survived", parts, unit: now.unit, signed: now.signed, total, ordered: true });
}

function drawChips() {
    const chips = state.filters.map((filter, i) =>
        chip(filter.text, () => change({ filters: state.filters.filter((_, k) => k !== i) })));
    if (state.zoomed > 0) {
        chips.unshift(chip(`below ${functionName(profile, profile.frameFunction[state.zoomed])}`, () => zoom(0)));
    }
    byId("chips").replaceChildren(...chips);
}

function chip(text, onRemove) {
    const button = element("button", { type: "button", class: "chip", title: `Remove: ${text}` }, `${text} ✕`);
    button.addEventListener("click", onRemove);
    return button;
}

function drawLooked() {
    byId("source").hidden = state.looked === null;
    if (!state.looked) return;
    const f = state.looked.function;
    const file = profile.functions.file[f];
    const lines = sumLines(profile, file, state.type, now.chosen);
    byId("source-title").textContent = functionName(profile, f);
    drawSource(byId("source-lines"), profile, {
        file,
        line: state.looked.line ?? heaviestLine(profile, f, lines),
        lines,
        unit: now.unit,
        signed: now.signed,
    });
}

function drawStatus() {
    byId("status").textContent = describeFrame(state.selected);
    byId("found").textContent = "";
    if (!now.found) return;
    const { sum, count } = sumFound(profile, now.sums, now.found);
    const frames = count === 1 ? "1 frame" : `${count} frames`;
    byId("found").textContent = `${frames}, ${valueText(sum)}, ${formatShare(sum, now.whole)}`;
}

// ---- what people do ----

function change(changes) {
    Object.assign(state, changes);
    draw();
}

function zoom(frame) {
    change({ zoomed: frame, selected: frame, looked: frame > 0 ? { function: profile.frameFunction[frame] } : null });
}

function select(frame) {
    state.selected = frame;
    flame.mark(frame);
    byId("status").textContent = describeFrame(frame);
}

function choose(group) {
    const again = state.looked && group.function === state.looked.function && group.line === state.looked.line;
    if (group.function !== undefined) {
        change({ looked: again ? null : { function: group.function, line: group.line, marked: true } });
        return;
    }
    const text = `${state.group.name}: ${group.name}`;
    if (state.filters.some((filter) => filter.text === text)) return;
    change({ filters: [...state.filters, { text, keeps: group.keeps }] });
}

// ---- the parts that stay ----

function fillMenus() {
    const option = (text, i, chosen) => element("option", { value: String(i), selected: i === chosen }, text);
    const types = profile.types.map(([name], i) => shownType(profile, i) && option(name, i, state.type));
    byId("type").append(...types.filter((one) => one));
    byId("group").append(...groups.map(({ name }, i) => option(name, i, 0)));
}

function describeProfile() {
    const title = profile.old === null ? profile.name : `${profile.old} → ${profile.name}`;
    document.title = `${title} – heapprof`;
    byId("title").textContent = title;
    byId("when").textContent = profile.time > 0 ? new Date(profile.time).toLocaleString() : "";
    byId("facts").replaceChildren(...profile.comments.map((comment) => element("li", {}, comment)));
    byId("about").hidden = profile.comments.length === 0;
    byId("search").placeholder = "function or file ( / )";
    byId("difference").hidden = profile.old === null;
    byId("origins").hidden = profile.old !== null;
}

function listen() {
    byId("type").addEventListener("change", (event) => change({ type: Number(event.target.value) }));
    byId("group").addEventListener("change", (event) => change({ group: groups[Number(event.target.value)] }));
    byId("search").addEventListener("input", (event) => change({ search: event.target.value.trim() }));
    byId("reset").addEventListener("click", () => {
        byId("search").value = "";
        change({ filters: [], zoomed: 0, search: "", selected: 0, looked: null });
    });
    listenToKeys(byId("flame"), byId("search"), { profile, sums: () => now.sums, selected: () => state.selected, zoom, select });
    window.addEventListener("resize", draw);
}

fillMenus();
describeProfile();
drawLadder();
listen();
draw();
