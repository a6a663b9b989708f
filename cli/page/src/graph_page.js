// graph_page.js - the page of `heapprof graph view`: its state, and what is drawn anew when that changes.

import { readAddress, writeAddress } from "./address.js";
import { drawChanges } from "./changes.js";
import { changeColour, changeSteps, classColour, FOUND, NEUTRAL, originColour } from "./colours.js";
import { json } from "./data.js";
import { byId, copyText, debounced, download, element } from "./dom.js";
import { createFlame } from "./flame.js";
import { formatChange, formatShare, formatValue } from "./format.js";
import { leftOut, readTree, treeSums } from "./graph.js";
import { listenToKeys } from "./keys.js";
import { drawObject, objectName } from "./object.js";
import { parseQuery } from "./query.js";
import { matcher, sumFound } from "./search.js";
import { drawSuspects } from "./suspects.js";
import { csv, drawTable } from "./table.js";
import { meaning, termList } from "./terms.js";
import { createTreemap } from "./treemap.js";

const PAUSE = 120; // milliseconds without a key, before a search or a query is done

const tree = readTree(json);
const sums = treeSums(tree);
const chosen = new Map(json.chosen.map((object) => [object.address, object]));
const sources = new Map(json.sources.map((source) => [source.file, source]));
const classes = {
    name: "class", list: json.classes, left: json.classesLeftOut,
    columns: [["bytes", "bytes"], ["retained", "retained"], ["objects", "objects"]],
    choose: (group) => search(`: (list of )?${quoted(group.what ?? group.name)}( ->.*)?$`),
};
const objects = {
    name: "object", left: json.objects - chosen.size,
    list: json.chosen.map((object) => ({ ...object, what: object.name, name: objectName(object), detail: object.way })),
    columns: [["bytes", "bytes"], ["retained", "retained"]],
    choose: (group) => open(group.address),
};
const groups = [classes, objects];
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
    line: null,   // of that object's stack, the frame whose code is shown; null: none was chosen
    query: "",    // which objects are in the table
    changesBy: null, // a column of the changes
};
const most = json.diff ? Math.max(...tree.growth.slice(1).map(Math.abs), 1) : 0; // the largest growth in the picture
let found = null; // by frame: 1, the others 0; null: nothing is searched for

const bytes = (value) => formatValue(value, "bytes");
const count = (value) => formatValue(value, "count");

// ---- what a frame is ----

function describeFrame(frame) {
    const share = formatShare(tree.retained[frame], json.bytes);
    if (frame === 0) return `all: ${bytes(json.bytes)}, ${count(json.objects)} objects${growthText(0)}`;
    const objects = tree.objects[frame] === 1 ? "1 object" : `${count(tree.objects[frame])} objects`;
    const left = leftOut(tree, frame);
    return `${tree.name[frame]}: retains ${bytes(tree.retained[frame])}, ${share}${growthText(frame)}\n` +
        `${objects}, themselves ${bytes(tree.bytes[frame])}${left > 0 ? `; ${bytes(left)} below it are too small for this page` : ""}`;
}

// With all below it, since the first dump.
function growthText(frame) {
    return json.diff ? `; growth ${formatChange(tree.growth[frame], "bytes")}` : "";
}

// Of several dumps, how much of it has grown. Of one, classes and modules hold a program together; the others have a shade of their class.
function frameColour({ frame, rest }) {
    if (frame === 0 || rest) return NEUTRAL;
    if (found?.[frame]) return FOUND;
    if (json.diff) return changeColour(tree.growth[frame], most);
    const what = tree.name[frame].replace(/^.*: /s, "");
    return /^(class|module) /.test(what) ? originColour("library", what) : classColour(what);
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
    const { left, choose } = state.group;
    const { groups: list, columns, by } = tableOf();
    drawTable(byId("table"), {
        groups: list,
        columns,
        by,
        text: (value, key) => formatValue(value, key === "objects" ? "count" : "bytes"),
        whole: state.by === "objects" ? json.objects : json.bytes,
        signed: false,
        matches: ({ what, name }) => !matches || matches(`: ${what ?? name}`) || matches(name),
        explain: meaning,
        note: left > 0 ? `${count(left)} are not in this page.` : "",
        onChoose: choose,
        onSort: (by) => change({ by }),
        onCopy: async (text) => {
            await copyText(text);
            byId("copied").textContent = "Copied the row.";
        },
    });
}

// What the table shows: of the objects, those that are asked for.
function tableOf() {
    const { list, columns } = state.group;
    const query = state.group === objects ? readQuery() : null;
    return { groups: query ? list.filter(query) : list, columns, by: columns.some(([key]) => key === state.by) ? state.by : "retained" };
}

// A function of an object; null: all of them are wanted, or the query is wrong. It says which.
function readQuery() {
    let query = null;
    let said = `of the ${count(chosen.size)} objects of this page, such as: Hash with bytes > 1M and not frozen`;
    try {
        if (state.query !== "") {
            query = parseQuery(state.query);
            const these = json.chosen.filter(query);
            said = `${count(these.length)} of the ${count(chosen.size)} objects of this page, ${bytes(these.reduce((sum, one) => sum + one.bytes, 0))}`;
        }
    } catch (error) {
        said = error.message;
    }
    byId("query-said").textContent = said;
    return query;
}

function drawShownObject() {
    const object = chosen.get(state.object);
    byId("object").hidden = !object;
    if (!object) return;
    drawObject(byId("object"), object, {
        has: (address) => chosen.has(address),
        source: (file) => sources.get(file),
        line: state.line,
        onChoose: open,
        onLine: (line) => change({ line }),
        onPlace: () => findInTree(object.frame),
        onClose: () => show(null),
    });
}

function drawStatus() {
    byId("status").textContent = describeFrame(state.selected);
    byId("found").textContent = "";
    if (!found) return;
    const { sum, count: frames } = sumFound(tree, sums, found);
    byId("found").textContent = `${frames === 1 ? "1 frame" : `${frames} frames`}, ${bytes(sum)}, ${formatShare(sum, json.bytes)}`;
}

function showSuspects() {
    drawSuspects(byId("suspects"), json.suspects, {
        example: (i) => json.chosen[json.suspectExamples[i]],
        empty: json.bytes === 0,
        onOpen: open,
        onPlace: (address) => findInTree(chosen.get(address)?.frame ?? 0),
    });
}

function drawDifference() {
    byId("changes").hidden = !json.diff;
    if (!json.diff) return;
    drawChanges(byId("changes"), json.diff, {
        by: state.changesBy,
        has: (address) => chosen.has(address),
        onChoose: open,
        onSort: (by) => {
            const column = [...byId("changes").querySelectorAll("th button")].indexOf(document.activeElement);
            state.changesBy = by;
            drawDifference();
            byId("changes").querySelectorAll("th button")[column]?.focus();
        },
    });
}

// ---- what people do ----

// step: the browser's "back" undoes it.
function change(changes, step = true) {
    Object.assign(state, changes);
    draw();
    writeAddress(addressFields(), step);
}

// A frame's object is shown, too, if the page has it.
function zoom(frame) {
    const example = frame > 0 ? json.chosen[tree.example[frame]] : undefined;
    change({ zoomed: frame, selected: frame, object: example?.address ?? null, line: null });
}

function select(frame) {
    state.selected = frame;
    state.picture.mark(frame);
    byId("status").textContent = describeFrame(frame);
}

function show(address) {
    change({ object: address, line: null });
}

// Shows an object, and goes there.
function open(address) {
    show(address);
    byId("object").querySelector("h2")?.focus();
}

// Goes to a frame of the picture.
function findInTree(frame) {
    change({ zoomed: frame, selected: frame });
    byId("flame").scrollIntoView({ block: "nearest" });
    byId("flame").focus();
}

function search(text) {
    byId("search").value = text;
    change({ search: text });
}

function quoted(text) {
    return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

// Where the search leads; 0: it has found nothing.
function widestFound() {
    return found ? found.reduce((best, is, frame) => (is && (best === 0 || sums.width[frame] > sums.width[best]) ? frame : best), 0) : 0;
}

// ---- the address ----

function addressFields() {
    const unless = (value, usual) => (value === usual ? undefined : value);
    return {
        picture: unless(state.picture.name, pictures[0].name),
        by: unless(state.group.name, groups[0].name),
        sort: unless(state.by, "retained"),
        zoom: unless(state.zoomed, 0),
        search: unless(state.search, ""),
        query: unless(state.query, ""),
        object: state.object ?? undefined,
    };
}

// What is not in this dump is left out: the address may be of another one.
function restore() {
    const fields = readAddress();
    const zoomed = Number(fields.get("zoom"));
    const frame = Number.isInteger(zoomed) && zoomed > 0 && zoomed < tree.frameCount ? zoomed : 0;
    Object.assign(state, {
        picture: pictures.find(({ name }) => name === fields.get("picture")) ?? pictures[0],
        group: groups.find(({ name }) => name === fields.get("by")) ?? groups[0],
        by: ["bytes", "objects"].includes(fields.get("sort")) ? fields.get("sort") : "retained",
        zoomed: frame,
        selected: frame,
        search: fields.get("search") ?? "",
        query: fields.get("query") ?? "",
        object: chosen.has(fields.get("object")) ? fields.get("object") : null,
        line: null,
    });
    byId("search").value = state.search;
    byId("query").value = state.query;
    byId("picture").value = String(pictures.indexOf(state.picture));
    byId("group").value = String(groups.indexOf(state.group));
}

// ---- the parts that stay ----

// Which colour is which amount of growth.
function drawScale() {
    if (!json.diff) return;
    byId("scale").replaceChildren(...changeSteps(most).map((step) => {
        const box = element("span", { class: "step" }, formatChange(step, "bytes"));
        box.style.background = changeColour(step, most);
        return box;
    }));
}

function describeDump() {
    const facts = [
        `${count(json.objects)} objects alive, ${bytes(json.bytes)}`,
        json.unreachedObjects > 0 && `${count(json.unreachedObjects)} objects that nothing leads to, ${bytes(json.unreachedBytes)}`,
        json.tree.leftOut > 0 && `the picture leaves out ${count(json.tree.leftOut)} smaller ways`,
        json.incomplete && `the file is incomplete: ${json.incomplete}`,
        ...[...json.process, ...json.footer].map(([key, value]) => `${key}: ${value}`),
    ].filter((fact) => fact);
    const title = json.diff ? json.diff.names.join(" → ") : json.name;
    document.title = `${title} – heapprof graph`;
    byId("title").textContent = title;
    byId("when").textContent = json.time > 0 ? new Date(json.time).toLocaleString() : "";
    byId("facts").replaceChildren(...facts.map((fact) => element("li", {}, fact)));
    byId("types").hidden = true;
    byId("bars").hidden = true;
    byId("search").placeholder = "label or class ( / )";
    byId("graph").setAttribute("aria-label", "Dominator tree");
    byId("pictures").hidden = false;
    byId("save").hidden = false;
    byId("actions").hidden = false;
    byId("copy-stack").hidden = true;
    byId("difference").hidden = !json.diff;
    byId("widths").textContent = "what it retains; its colour says by how much that grew";
    byId("queries").hidden = false;
    byId("terms").hidden = false;
    byId("meanings").replaceChildren(...termList());
    byId("picture").append(...pictures.map(({ name }, i) => element("option", { value: String(i) }, name)));
    byId("group").append(...groups.map(({ name }, i) => element("option", { value: String(i), selected: i === 0 }, name)));
}

// Done when nothing was typed for a while, or at once by Enter.
function typing(id, action) {
    const soon = debounced(PAUSE, action);
    byId(id).addEventListener("input", soon);
    byId(id).addEventListener("change", soon.now);
}

function listen() {
    byId("group").addEventListener("change", (event) => change({ group: groups[Number(event.target.value)] }));
    byId("picture").addEventListener("change", (event) => change({ picture: pictures[Number(event.target.value)] }));
    typing("query", () => {
        byId("group").value = String(groups.indexOf(objects));
        change({ group: objects, query: byId("query").value.trim() }, false);
    });
    typing("search", () => {
        change({ search: byId("search").value.trim() }, false);
        state.picture.show?.(widestFound());
    });
    byId("save").addEventListener("click", () => {
        const { groups: list, columns, by } = tableOf();
        download(`${json.name.replace(/\.rbgraph$/, "")}-${state.group.name}.csv`, csv(list, columns, by));
    });
    byId("reset").addEventListener("click", () => {
        byId("search").value = byId("query").value = "";
        change({ zoomed: 0, search: "", selected: 0, object: null, line: null, query: "" });
    });
    listenToKeys(byId("flame"), byId("search"), {
        tree: () => tree, sums: () => sums, selected: () => state.selected, zoomed: () => state.zoomed, zoom, select,
    });
    window.addEventListener("resize", draw);
    window.addEventListener("popstate", () => {
        restore();
        draw();
    });
}

describeDump();
drawDifference();
showSuspects();
drawScale();
listen();
restore();
draw();
