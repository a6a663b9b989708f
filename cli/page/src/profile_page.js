// profile_page.js - the page of `heapprof view`: its state, and what is drawn anew when that changes.
//
//     profile --filters--> sums of frames --folds, view--> tree --> flame graph
//                 `--zoom--> chosen rows --> table, bars, source
//
// Each step is computed again when what it is made of has changed (memo.js): a search colours what is drawn already.

import { readAddress, writeAddress } from "./address.js";
import { drawBar } from "./bars.js";
import { changeColour, changeSteps, FOUND, gemColours, NEUTRAL, originColour } from "./colours.js";
import { json } from "./data.js";
import { byId, copyText, debounced, download, element } from "./dom.js";
import { explainEmpty } from "./empty.js";
import { createFlame } from "./flame.js";
import { findFolds, gemOfToken } from "./folds.js";
import { formatChange, formatShare, formatValue } from "./format.js";
import { groupings, markBelow } from "./groups.js";
import { listenToKeys } from "./keys.js";
import { remembered } from "./memo.js";
import { fullTypeName, groupName, typeName, typeOrder } from "./names.js";
import { fileName, functionName, readProfile, shownType } from "./profile.js";
import { rootedBy, rootKeys } from "./rooted.js";
import { listFound, matcher, matchFunctions, sumFound } from "./search.js";
import { drawSource, heaviestLine, sumLines } from "./source.js";
import { chooseRows, insideOf, sumFrames } from "./sums.js";
import { csv, drawTable } from "./table.js";
import { callerTree, callSums, callTree, pathTo, sandwich } from "./tree.js";

const PAUSE = 120; // milliseconds without a key, before the search is done

const root = readAddress().get("root") ?? ""; // the key of a label whose values all stacks begin with (rooted.js)
const profile = readProfile(rootedBy(json, root));
const folds = findFolds(profile);
const groups = groupings(profile);
const gems = gemColours([...new Set(profile.files.gem)].map((gem) => profile.strings[gem]).filter((gem) => !gem.startsWith("(")));
const first = groups.find(({ name }) => name === (profile.files.own.some(Boolean) ? "app line" : "function"));
const VIEWS = [["calls", "Calls, from the program’s start"], ["callers", "Callers, from what allocates"], ["function", "One function: callers and callees"]];
const start = {
    type: profile.default,
    group: first,
    by: "self",
    filters: [],       // [{ group, name, keeps }]
    view: "calls",
    folding: true,
    opened: new Set(), // heads of folds that are unfolded
    focus: null,       // in the view of one function, that function
    zoomed: [],        // tokens, from the root to the frame
    search: "",
    match: 0,          // which of the found frames is looked at
    looked: null,      // whose source is shown: { function, line }; marked: its frames have a colour of their own
};
const state = { ...start };
let selected = 0; // a frame of the tree
let now; // what the state leads to: recompute

const events = {
    describe: (data) => describe(now.main, data),
    colour: (data) => frameColour(now.main, data),
    onZoom: (data) => (data.fold && !data.rest ? unfold(now.main, data.frame) : zoom(data.frame)),
    onSelect: (data) => select(data.frame),
};
const flame = createFlame(place("calls"), events);
const parts = ["callers", "callees"].map((part) => [part, createFlame(place(part), {
    describe: (data) => describe(now[part], data),
    colour: (data) => frameColour(now[part], data),
    onZoom: (data) => recentre(now[part], data),
    onSelect: (data) => { byId("status").textContent = describe(now[part], data); },
    upward: part === "callers",
})]);

function place(name) {
    const made = element("div", { class: `picture ${name}` });
    byId("flame").append(made);
    return made;
}

// ---- from the state to numbers ----

const filterRows = remembered((filters) => chooseRows(profile, filters, null));
const sumProfile = remembered((type, rows) => sumFrames(profile, type, rows));
const findFunctions = remembered((search) => {
    const matches = matcher(search);
    return { matches, found: matches && matchFunctions(profile, matches) };
});
const findFrames = remembered((sums, found) => (found ? listFound(profile, sums, found) : []));
// The folds that are open: those that were clicked, and those that have what is looked at inside.
const openFolds = remembered((opened, match, focus) => {
    const open = new Set(opened).add(folds.head[match]);
    if (focus !== null) profile.frameFunction.forEach((f, frame) => f === focus && open.add(folds.head[frame]));
    return open;
});
const makeCalls = remembered((folding, open) => callTree(profile, folding ? folds : null, open));
const sumCalls = remembered((tree, sums) => callSums(profile, tree, sums));
const makeMain = remembered((view, tree, sums, path) =>
    (view === "callers" ? callerTree(profile, tree, sums, path) : { ...tree, sums, zoomed: followPath(tree, path) }));
const makeSandwich = remembered((tree, sums, focus) => sandwich(profile, tree, sums, focus));
const chooseShown = remembered((rows, main, calls, focus) => {
    const inside = insideNow(main, calls, focus);
    return inside ? rows.map((one, row) => (one && profile.rows.node[row] >= 0 && inside[profile.nodeFrame[profile.rows.node[row]]] ? 1 : 0)) : rows;
});
const listGroups = remembered((group, type, chosen) => group.list({ type, chosen, sums: sumFrames(profile, type, chosen) }));
const markFound = remembered((calls, found) => {
    const marked = new Uint8Array(calls.frameCount);
    if (found) for (let frame = 1; frame < profile.frameCount; frame++) marked[calls.placeOf[frame]] |= found[profile.frameFunction[frame]];
    return marked;
});

function recompute() {
    const rows = filterRows(state.filters);
    const sums = sumProfile(state.type, rows);
    const { matches, found } = findFunctions(state.search);
    const listed = findFrames(sums, found);
    const match = listed.length > 0 ? listed[state.match % listed.length] : 0;
    const focus = state.view === "function" ? state.focus : null;
    const calls = makeCalls(state.folding, openFolds(state.opened, folds.head[match] > 0 ? match : 0, focus));
    const callsSums = sumCalls(calls, sums);
    const main = makeMain(state.view, calls, callsSums, state.zoomed);
    const values = profile.rows.values[state.type];
    const chosen = chooseShown(rows, main, calls, focus);
    now = {
        ...(focus === null ? {} : makeSandwich(calls, callsSums, focus)),
        sums, matches, found, listed, match, calls, main, chosen, rows,
        marked: markFound(calls, found),
        zoomed: main.zoomed,
        unit: profile.types[state.type][1],
        signed: profile.old !== null || values.some((value) => value < 0),
        whole: sums.width[0],
    };
    now.errors = sumErrors(rows);
    now.most = now.signed ? sums.net.reduce((most, one) => Math.max(most, Math.abs(one)), 0) : 0;
}

// The frame that the tokens lead to, as far as they lead.
function followPath(tree, path) {
    const { start: begin, list } = tree.children;
    let frame = 0;
    for (const token of path) {
        const below = list.subarray(begin[frame], begin[frame + 1]).find((one) => tree.token[one] === token);
        if (below === undefined) break;
        frame = below;
    }
    return frame;
}

// The profile's frames whose rows the table shows; null: all.
function insideNow(main, calls, focus) {
    if (focus !== null) return markBelow(profile, (frame) => calls.token[calls.placeOf[frame]] === focus);
    if (main.zoomed === 0) return null;
    let inside;
    if (main.amountsOf) {
        inside = new Uint8Array(calls.frameCount);
        for (const frame of main.amountsOf(main.zoomed)) inside[frame] = 1;
    } else inside = insideOf(main, main.zoomed);
    return calls.placeOf.map((frame) => inside[frame]);
}

// How far each frame's value may be off, two standard deviations; null: not known. Of a difference what
// stayed was measured by the same samples, so that more would have to be known.
function sumErrors(rows) {
    const variance = profile.variances[state.type];
    if (variance < 0 || profile.old !== null || state.view !== "calls") return null;
    return sumCalls2(now.calls, sumVariance(variance, rows)).net.map((one) => 2 * Math.sqrt(Math.max(0, one)));
}
const sumVariance = remembered((type, rows) => sumFrames(profile, type, rows));
const sumCalls2 = remembered((tree, sums) => callSums(profile, tree, sums));

// ---- what a frame is ----

function valueText(value) {
    return now.signed ? formatChange(value, now.unit) : formatValue(value, now.unit);
}

function describe(tree, { frame, rest, name }) {
    return rest ? name : describeFrame(tree, frame);
}

function describeFrame(tree, frame) {
    const { sums } = tree;
    const error = now.errors?.[frame] > 0 && !now.signed && tree === now.main ? ` ± ${valueText(now.errors[frame])}` : "";
    const numbers = `${valueText(sums.net[frame])}${error}, ${formatShare(sums.net[frame], now.whole)}`;
    const token = tree.token[frame];
    if (frame === 0 && token === -1) return `all: ${numbers}`;
    const self = tree.amountsOf ? "" : `, self ${valueText(sums.self[frame])}`;
    if (token < 0) return `${tree.nameOf(frame)}: ${numbers}${self}\na click unfolds them`;
    return `${functionName(profile, token)}: ${numbers}${self}\n${fileName(profile, profile.functions.file[token])}`;
}

function frameColour(tree, { frame, rest }) {
    const token = tree.token[frame];
    if (rest || token === -1) return foundIn(tree, frame) && !rest && frame > 0 ? FOUND : NEUTRAL;
    if (foundIn(tree, frame) || (state.looked?.marked && state.looked.function === token)) return FOUND;
    if (now.signed) return changeColour(tree.sums.net[frame], now.most);
    if (token < 0) return gemColour(gemOfToken(token), "");
    const file = profile.functions.file[token];
    return profile.files.own[file] ? originColour("app", functionName(profile, token)) : gemColour(profile.files.gem[file], functionName(profile, token));
}

const gemColour = (gem, name) => gems.get(profile.strings[gem]) ?? originColour("library", name);

function foundIn(tree, frame) {
    if (!now.found) return false;
    if (tree.token[frame] >= 0) return now.found[tree.token[frame]] === 1;
    return tree.standsFor ? tree.standsFor(frame).some((at) => now.marked[at]) : now.marked[frame] === 1;
}

// ---- drawing ----

let drawn = {}; // what the picture and the table were drawn from

function draw() {
    recompute();
    const nothing = explainEmpty(profile, {
        type: state.type, width: now.sums.width[0], filtered: state.filters.length > 0,
    });
    byId("nothing").hidden = nothing === "";
    byId("nothing").textContent = nothing;
    drawPicture();
    drawGroups();
    drawAges();
    drawChips();
    drawLooked();
    drawScale();
    drawStatus();
    drawControls();
}

// What is drawn already has other colours only.
function drawPicture() {
    const both = state.view === "function";
    const width = byId("flame").clientWidth;
    const same = drawn.main === now.main && drawn.callers === now.callers && drawn.width === width && drawn.view === state.view;
    if (!same) selected = now.zoomed;
    document.querySelector("#flame .calls").hidden = both;
    for (const [part] of parts) document.querySelector(`#flame .picture.${part}`).hidden = !both;
    const pictures = both ? parts.map(([part, picture]) => [picture, now[part]]) : [[flame, now.main]];
    for (const [picture, tree] of pictures) {
        if (same) picture.paint();
        else picture.draw(tree, tree.sums, tree.token[0] === -1 ? now.zoomed : 0);
    }
    flame.mark(selected);
    drawn = { main: now.main, callers: now.callers, width, view: state.view, table: drawn.table };
}

const tableOf = () => ({
    groups: listGroups(state.group, state.type, now.chosen),
    columns: state.group.nested ? [["self", "self"], ["total", "with calls"]] : [["total", "held"]],
    by: state.group.nested ? state.by : "total",
});

function drawGroups() {
    const table = tableOf();
    const key = [table.groups, table.by, now.matches, now.signed];
    if (drawn.table && key.every((one, i) => one === drawn.table[i])) return;
    drawn.table = key;
    drawTable(byId("table"), {
        ...table,
        text: valueText,
        whole: now.whole,
        signed: now.signed,
        matches: inSearch,
        onChoose: choose,
        onSort: (by) => change({ by }),
        onCopy: (text) => copy(text, "the row"),
    });
}

// A function is found as in the picture, by its name and file.
function inSearch(group) {
    if (!now.matches) return true;
    if (group.function !== undefined && group.line === undefined) return now.found[group.function] === 1;
    return now.matches(group.name) || now.matches(group.detail ?? "");
}

// What the memory consists of, if the profile says: the frames that have that value, as they come.
function drawLadder() {
    const type = profile.types.findIndex(([name]) => name === "rss_space");
    if (type < 0) return;
    const sums = sumFrames(profile, type, new Uint8Array(profile.rowCount).fill(1));
    const pieces = [];
    for (let frame = 1; frame < profile.frameCount; frame++) {
        if (sums.self[frame] === 0) continue;
        const name = functionName(profile, profile.frameFunction[frame]).replace(/^\[VM\] /, "");
        pieces.push({ name, value: sums.self[frame] });
    }
    const signed = profile.old !== null || pieces.some((part) => part.value < 0);
    drawBar(byId("ladder"), { title: "In memory (RSS)", parts: pieces, unit: "bytes", signed, total: sums.net[0] });
}

function drawAges() {
    const grouping = groups.find((one) => one.name === "gc_age");
    byId("ages").hidden = !grouping;
    if (!grouping) return;
    const age = (group) => (/^\d/.test(group.name) ? parseInt(group.name, 10) : -1);
    const pieces = ageGroups(grouping, state.type, now.chosen)
        .map((group) => ({ name: group.name.replace(" gcs", ""), value: group.total, age: age(group) }))
        .filter((part) => part.age >= 0)
        .sort((a, b) => a.age - b.age);
    const total = pieces.reduce((sum, part) => sum + part.value, 0);
    drawBar(byId("ages"), { title: "By age, in garbage collections survived", parts: pieces, unit: now.unit, signed: now.signed, total, ordered: true });
}
const ageGroups = remembered((grouping, type, chosen) => grouping.list({ type, chosen }));

function drawChips() {
    const chips = state.filters.map((filter, i) =>
        chip(`${groupName(filter.group)}: ${filter.name}`, () => change({ filters: state.filters.filter((_, k) => k !== i) })));
    const side = state.view === "callers" ? "allocated by" : "below";
    if (now.zoomed > 0) chips.unshift(chip(`${side} ${now.main.nameOf(now.zoomed)}`, () => zoom(0)));
    if (state.opened.size > 0) chips.push(chip(`${state.opened.size} unfolded`, () => change({ opened: start.opened })));
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
    byId("source-both").hidden = state.view === "function" && state.focus === f;
    drawSource(byId("source-lines"), profile, {
        file,
        line: state.looked.line ?? heaviestLine(profile, f, lines),
        lines,
        unit: now.unit,
        signed: now.signed,
    });
}

// Which colour is which amount, of a difference.
function drawScale() {
    byId("difference").hidden = !now.signed;
    byId("origins").hidden = now.signed;
    if (!now.signed) return;
    byId("scale").replaceChildren(...changeSteps(now.most).map((step) => {
        const box = element("span", { class: "step" }, valueText(step));
        box.style.background = changeColour(step, now.most);
        return box;
    }));
}

function drawStatus() {
    byId("status").textContent = describeFrame(state.view === "function" ? now.callees : now.main, state.view === "function" ? 0 : selected);
    byId("found").textContent = "";
    byId("next").hidden = now.listed.length === 0;
    if (!now.found) return;
    const { sum, count } = sumFound(profile, now.sums, now.found);
    const frames = count === 1 ? "1 frame" : `${count} frames`;
    byId("found").textContent = `${frames}, ${valueText(sum)}, ${formatShare(sum, now.whole)}`;
}

function drawControls() {
    byId("type").value = String(state.type);
    byId("type").title = profile.types[state.type][0];
    byId("group").value = String(groups.indexOf(state.group));
    byId("group").title = state.group.name;
    byId("view").value = state.view;
    byId("folding").checked = state.folding;
    if (document.activeElement !== byId("search")) byId("search").value = state.search;
}

// ---- what people do ----

// step: the browser's "back" undoes it.
function change(changes, step = true) {
    Object.assign(state, changes);
    draw();
    writeAddress(addressFields(), step);
}

// A frame of the main tree.
function zoom(frame) {
    const token = now.main.token[frame];
    change({ zoomed: pathTo(now.main, frame), looked: frame > 0 && token >= 0 ? { function: token } : null });
}

function unfold(tree, frame) {
    const heads = tree.heads(frame);
    if (heads.length === 0) return;
    let above = now.zoomed;
    while (above > frame) above = tree.frameParent[above];
    change({ opened: new Set([...state.opened, ...heads]), zoomed: above === frame ? start.zoomed : state.zoomed });
}

// In the view of one function, a click on another one leads there.
function recentre(tree, { frame, fold, rest }) {
    if (rest) return;
    if (fold) unfold(tree, frame);
    else look(tree.token[frame]);
}

function look(f) {
    change({ view: "function", focus: f, zoomed: start.zoomed, looked: { function: f } });
}

function select(frame) {
    selected = frame;
    flame.mark(frame);
    flame.show(frame);
    byId("status").textContent = describeFrame(now.main, frame);
}

let arrived = true; // whether the found frame that is looked at is shown

// Goes to it, if it is wide enough to be drawn. far: if it is not, its caller is zoomed to.
function showMatch(far) {
    arrived = true;
    if (now.match === 0 || state.view === "function") return;
    const at = () => (state.view === "callers" ? now.main.token.indexOf(profile.frameFunction[now.match], 1) : now.calls.placeOf[now.match]);
    if (!flame.show(at())) {
        arrived = false;
        if (!far || state.view === "callers") return;
        change({ zoomed: pathTo(now.main, Math.max(0, now.main.frameParent[at()])) }, false);
        arrived = true;
    }
    select(at());
}

function search(text) {
    change({ search: text, match: 0 }, false);
    showMatch(false);
}

// The first time what was found first, if it was too narrow.
function next() {
    if (arrived) change({ match: (state.match + 1) % Math.max(1, now.listed.length) }, false);
    showMatch(true);
}

function choose(group) {
    const again = state.looked && group.function === state.looked.function && group.line === state.looked.line;
    if (group.function !== undefined) {
        change({ looked: again ? null : { function: group.function, line: group.line, marked: true } });
        return;
    }
    const filter = { group: state.group.name, name: group.name, keeps: group.keeps };
    if (!state.filters.some(({ group: by, name }) => by === filter.group && name === filter.name)) change({ filters: [...state.filters, filter] });
}

function chooseView(view) {
    if (view !== "function") change({ view, zoomed: start.zoomed });
    else look(state.looked?.function ?? focusOf(selected) ?? largestFunction());
}

const focusOf = (frame) => (state.view === "calls" && now.main.token[frame] >= 0 ? now.main.token[frame] : undefined);

function largestFunction() {
    const { self } = now.sums;
    let best = 1;
    for (let frame = 1; frame < profile.frameCount; frame++) if (Math.abs(self[frame]) > Math.abs(self[best])) best = frame;
    return profile.frameFunction[best] ?? 0;
}

async function copy(text, what) {
    await copyText(text);
    byId("copied").textContent = `Copied ${what}.`;
}

// Innermost first, as a backtrace.
function copyStack() {
    const { main } = now;
    const frames = [];
    for (let frame = selected; frame > 0; frame = main.frameParent[frame]) frames.push(frame);
    if (main.amountsOf) frames.reverse();
    const lines = frames.map((frame) => (main.token[frame] < 0 ? main.nameOf(frame) :
        `${fileName(profile, profile.functions.file[main.token[frame]])}: ${functionName(profile, main.token[frame])}`));
    copy(lines.join("\n"), "the stack");
}

// ---- the address ----

function addressFields() {
    const unless = (value, usual) => (value === usual ? undefined : value);
    return {
        type: unless(profile.types[state.type][0], profile.types[profile.default][0]),
        by: unless(state.group.name, first.name),
        sort: unless(state.by, start.by),
        view: unless(state.view, start.view),
        root: unless(root, ""),
        focus: state.view === "function" ? state.focus : undefined,
        fold: state.folding ? undefined : "no",
        open: state.opened.size > 0 ? [...state.opened].join(".") : undefined,
        zoom: state.zoomed.length > 0 ? state.zoomed.join(".") : undefined,
        search: unless(state.search, ""),
        source: state.looked ? [state.looked.function, state.looked.line ?? "", state.looked.marked ? "m" : ""].join(".") : undefined,
        filter: state.filters.map(({ group, name }) => `${group}:${name}`),
    };
}

// What is not in this profile is left out: the address may be of another one.
function restore() {
    const fields = readAddress();
    const number = (text, count) => (/^\d+$/.test(text) && Number(text) < count ? Number(text) : null);
    const functions = profile.functions.name.length;
    const type = profile.types.findIndex(([name]) => name === fields.get("type"));
    const focus = number(fields.get("focus") ?? "", functions);
    const view = VIEWS.some(([name]) => name === fields.get("view")) ? fields.get("view") : start.view;
    const [looked, line, marked] = (fields.get("source") ?? "").split(".");
    Object.assign(state, {
        type: type < 0 ? start.type : type,
        group: groups.find(({ name }) => name === fields.get("by")) ?? first,
        by: fields.get("sort") === "total" ? "total" : start.by,
        view: view === "function" && focus === null ? start.view : view,
        focus,
        folding: fields.get("fold") !== "no",
        opened: new Set((fields.get("open") ?? "").split(".").map((head) => number(head, profile.frameCount)).filter((head) => folds.sizes.has(head))),
        zoomed: (fields.get("zoom") ?? "").split(".").filter((token) => /^-?\d+$/.test(token)).map(Number),
        search: fields.get("search") ?? "",
        match: 0,
        looked: number(looked, functions) === null ? null : { function: Number(looked), line: number(line, Infinity) ?? undefined, marked: marked === "m" },
        filters: fields.getAll("filter").map(readFilter).filter(Boolean),
    });
    byId("search").value = state.search;
}

function readFilter(text) {
    const [by] = text.split(":");
    const grouping = groups.find(({ name }) => name === by);
    const name = text.slice(by.length + 1);
    const rows = filterRows([]);
    const group = grouping && listGroups(grouping, state.type, rows).find((one) => one.name === name);
    return group && { group: by, name, keeps: group.keeps };
}

// ---- the parts that stay ----

function fillMenus() {
    const option = (value, name, raw) => element("option", { value: String(value), title: raw, "data-name": raw }, name);
    const types = typeOrder(profile.types.map(([name]) => name)).filter((type) => shownType(profile, type));
    byId("type").append(...types.map((type) => option(type, typeName(profile.types[type][0]), profile.types[type][0])));
    const order = [first, ...groups.filter((group) => group !== first)];
    byId("group").append(...order.map((group) => option(groups.indexOf(group), groupName(group.name), group.name)));
    byId("view").append(...VIEWS.map(([name, text]) => option(name, text, name)));
    byId("root").append(option("", "nothing"), ...rootKeys(json).map((key) => option(key, key, key)));
    byId("root").value = root;
}

function describeProfile() {
    const title = profile.old === null ? profile.name : `${profile.old} → ${profile.name}`;
    document.title = `${title} – heapprof`;
    byId("title").textContent = title;
    byId("when").textContent = profile.time > 0 ? new Date(profile.time).toLocaleString() : "";
    byId("facts").replaceChildren(...profile.comments.map((comment) => element("li", {}, comment)));
    byId("about").hidden = profile.comments.length === 0;
    byId("search").placeholder = "function or file ( / )";
    byId("widths").textContent = "what changed in it; its colour says by how much";
    byId("views").hidden = false;
    byId("roots").hidden = rootKeys(json).length === 0;
    byId("folds").hidden = folds.sizes.size === 0;
    byId("actions").hidden = false;
    byId("save").hidden = false;
}

function listen() {
    const on = (id, event, action) => byId(id).addEventListener(event, action);
    on("type", "change", (event) => change({ type: Number(event.target.value) }));
    on("group", "change", (event) => change({ group: groups[Number(event.target.value)] }));
    on("view", "change", (event) => chooseView(event.target.value));
    on("root", "change", (event) => beginWith(event.target.value));
    on("folding", "change", (event) => change({ folding: event.target.checked, zoomed: start.zoomed }));
    const searchSoon = debounced(PAUSE, () => search(byId("search").value.trim()));
    on("search", "input", searchSoon);
    on("search", "change", searchSoon.now);
    on("search", "keydown", (event) => {
        if (event.key === "Enter" && !searchSoon.now()) next();
    });
    on("next", "click", next);
    on("reset", "click", () => {
        byId("search").value = "";
        change({ ...start, type: state.type, group: state.group, by: state.by });
    });
    on("copy-stack", "click", copyStack);
    on("source-both", "click", () => look(state.looked.function));
    on("save", "click", () => {
        const { groups: list, columns, by } = tableOf();
        download(`${profile.name.replace(/\.pb\.gz$/, "")}-${state.group.name.replaceAll(" ", "-")}.csv`, csv(list, columns, by));
    });
    listenToKeys(byId("flame"), byId("search"), {
        tree: () => now.main, sums: () => now.main.sums, selected: () => selected, zoomed: () => now.zoomed,
        zoom: (frame) => (now.main.heads(frame).length > 0 ? unfold(now.main, frame) : zoom(frame)),
        select, copy: copyStack,
    });
    window.addEventListener("resize", draw);
    window.addEventListener("popstate", () => {
        if ((readAddress().get("root") ?? "") !== root) location.reload();
        restore();
        draw();
    });
}

// The frames are others then, and so are their numbers.
function beginWith(key) {
    const { open, zoom, focus, source, ...kept } = addressFields();
    writeAddress({ ...kept, view: focus === undefined ? kept.view : undefined, root: key === "" ? undefined : key }, true);
    location.reload();
}

fillMenus();
describeProfile();
drawLadder();
listen();
restore();
draw();
