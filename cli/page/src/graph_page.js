// graph_page.js - the page of `heapprof graph view`: its state, and what is drawn anew when that changes.

import { FOUND, NEUTRAL, originColour } from "./colours.js";
import { json } from "./data.js";
import { byId, element } from "./dom.js";
import { createFlame } from "./flame.js";
import { formatShare, formatValue } from "./format.js";
import { leftOut, readTree, treeSums } from "./graph.js";
import { listenToKeys } from "./keys.js";
import { drawObject, objectName } from "./object.js";
import { matcher, sumFound } from "./search.js";
import { drawTable } from "./table.js";
import { createTreemap } from "./treemap.js";

const tree = readTree(json);
const sums = treeSums(tree);
const chosen = new Map(json.chosen.map((object) => [object.address, object]));
const groups = [
    { name: "class", list: json.classes, left: json.classesLeftOut,
      columns: [["bytes", "bytes"], ["retained", "retained"], ["objects", "objects"]], choose: (group) => search(`: ${quoted(group.name)}$`) },
    { name: "object", list: json.chosen.map((object) => ({ ...object, what: object.name, name: objectName(object), detail: object.way })), left: json.objects - chosen.size,
      columns: [["bytes", "bytes"], ["retained", "retained"]], choose: (group) => show(group.address) },
];
const events = {
    describe: (data) => (data.rest ? data.name : describeFrame(data.frame)),
    colour: (data) => frameColour(data),
    onZoom: (data) => zoom(data.frame),
    onSelect: (data) => select(data.frame),
};
const pictures = [["flame graph", createFlame], ["treemap", createTreemap]].map(([name, create]) => {
    const place = element("div", { class: name.replace(" ", "-"), hidden: true });
    byId("flame").append(place);
    return { name, place, ...create(place, events) };
});
const state = {
    picture: pictures[0],
    group: groups[0],
    by: "retained",
    zoomed: 0,    // a frame
    selected: 0,  // a frame
    search: "",
    object: null, // an address
};
let found = null; // by frame: 1, the others 0; null: nothing is searched for

const bytes = (value) => formatValue(value, "bytes");
const count = (value) => formatValue(value, "count");

// ---- what a frame is ----

function describeFrame(frame) {
    const share = formatShare(tree.retained[frame], json.bytes);
    if (frame === 0) return `all: ${bytes(json.bytes)}, ${count(json.objects)} objects`;
    const objects = tree.objects[frame] === 1 ? "1 object" : `${count(tree.objects[frame])} objects`;
    const left = leftOut(tree, frame);
    return `${tree.name[frame]}: retains ${bytes(tree.retained[frame])}, ${share}\n` +
        `${objects}, themselves ${bytes(tree.bytes[frame])}${left > 0 ? `; ${bytes(left)} below it are too small for this page` : ""}`;
}

// Classes and modules hold a program together; the others have a shade of their class.
function frameColour({ frame, rest }) {
    if (frame === 0 || rest) return NEUTRAL;
    if (found?.[frame]) return FOUND;
    const what = tree.name[frame].replace(/^.*: /s, "");
    return /^(class|module) /.test(what) ? originColour("library", what) : originColour("gem", what);
}

// ---- drawing ----

function draw() {
    const matches = matcher(state.search);
    found = matches && Uint8Array.from(tree.name, (name, frame) => (frame > 0 && matches(name) ? 1 : 0));
    byId("nothing").hidden = json.bytes !== 0;
    drawPicture();
    drawGroups(matches);
    drawShownObject();
    drawStatus();
}

function drawPicture() {
    for (const { place, name } of pictures) place.hidden = name !== state.picture.name;
    state.picture.draw(tree, sums, state.zoomed);
    state.picture.mark(state.selected);
    byId("flame").setAttribute("aria-label", `Dominator tree as a ${state.picture.name}: arrows go from one to the next, Enter zooms, Escape zooms out`);
}

// A class is searched for in the picture, where "label: class" stands: the table shows all.
function drawGroups(matches) {
    const { list, columns, left, choose } = state.group;
    drawTable(byId("table"), {
        groups: list,
        columns,
        by: columns.some(([key]) => key === state.by) ? state.by : "retained",
        text: (value, key) => formatValue(value, key === "objects" ? "count" : "bytes"),
        whole: state.by === "objects" ? json.objects : json.bytes,
        signed: false,
        matches: ({ what, name }) => !matches || matches(`: ${what ?? name}`) || matches(name),
        onChoose: choose,
        onSort: (by) => change({ by }),
    });
    byId("table").append(element("p", { class: "quiet" }, left > 0 ? `${count(left)} are not in this page.` : ""));
}

function drawShownObject() {
    const object = chosen.get(state.object);
    byId("object").hidden = !object;
    if (object) drawObject(byId("object"), object, { has: (address) => chosen.has(address), onChoose: show, onClose: () => show(null) });
}

function drawStatus() {
    byId("status").textContent = describeFrame(state.selected);
    byId("found").textContent = "";
    if (!found) return;
    const { sum, count: frames } = sumFound(tree, sums, found);
    byId("found").textContent = `${frames === 1 ? "1 frame" : `${frames} frames`}, ${bytes(sum)}, ${formatShare(sum, json.bytes)}`;
}

function drawSuspects() {
    const items = json.suspects.map(({ text, gathered }) => {
        const button = element("button", { type: "button", class: "suspect" }, text);
        button.addEventListener("click", () => show(gathered.address));
        return element("li", {}, button);
    });
    byId("suspects").hidden = false;
    byId("suspects").replaceChildren(element("h2", {}, items.length > 0 ? "Suspects" : "Nothing keeps more than 5% by itself."),
        element("ol", {}, ...items));
}

// ---- what people do ----

function change(changes) {
    Object.assign(state, changes);
    draw();
}

// A frame's object is shown, too, if the page has it.
function zoom(frame) {
    const example = frame > 0 ? json.chosen[tree.example[frame]] : undefined;
    change({ zoomed: frame, selected: frame, object: example?.address ?? null });
}

function select(frame) {
    state.selected = frame;
    state.picture.mark(frame);
    byId("status").textContent = describeFrame(frame);
}

function show(address) {
    change({ object: address });
}

function search(text) {
    byId("search").value = text;
    change({ search: text });
}

function quoted(text) {
    return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

// ---- the parts that stay ----

function describeDump() {
    const facts = [
        `${count(json.objects)} objects alive, ${bytes(json.bytes)}`,
        json.unreachedObjects > 0 && `${count(json.unreachedObjects)} objects that nothing leads to, ${bytes(json.unreachedBytes)}`,
        json.tree.leftOut > 0 && `the picture leaves out ${count(json.tree.leftOut)} smaller ways`,
        json.incomplete && `the file is incomplete: ${json.incomplete}`,
        ...[...json.process, ...json.footer].map(([key, value]) => `${key}: ${value}`),
    ].filter((fact) => fact);
    document.title = `${json.name} – heapprof graph`;
    byId("title").textContent = json.name;
    byId("when").textContent = json.time > 0 ? new Date(json.time).toLocaleString() : "";
    byId("facts").replaceChildren(...facts.map((fact) => element("li", {}, fact)));
    byId("types").hidden = true;
    byId("bars").hidden = true;
    byId("search").placeholder = "label or class ( / )";
    byId("graph").setAttribute("aria-label", "Dominator tree");
    byId("pictures").hidden = false;
    byId("picture").append(...pictures.map(({ name }, i) => element("option", { value: String(i) }, name)));
    byId("group").append(...groups.map(({ name }, i) => element("option", { value: String(i), selected: i === 0 }, name)));
}

function listen() {
    byId("group").addEventListener("change", (event) => change({ group: groups[Number(event.target.value)] }));
    byId("picture").addEventListener("change", (event) => change({ picture: pictures[Number(event.target.value)] }));
    byId("search").addEventListener("input", (event) => change({ search: event.target.value.trim() }));
    byId("reset").addEventListener("click", () => {
        byId("search").value = "";
        change({ zoomed: 0, search: "", selected: 0, object: null });
    });
    listenToKeys(byId("flame"), byId("search"), { profile: tree, sums: () => sums, selected: () => state.selected, zoom, select });
    window.addEventListener("resize", draw);
}

describeDump();
drawSuspects();
listen();
draw();
