// table.js - the groups, the largest first, each of them, however many there are.
//
// Rows are made when they come into view, CHUNK of them at a time; what is out of view is a row as high as they were. So a table
// of any length costs what is seen of it.

import { breakable, element } from "./dom.js";
import { formatShare } from "./format.js";

const CHUNK = 100;
const ROW = 24; // pixels, about, of a row that has not been in view

const watched = new WeakMap(); // by place: what tells which chunks are in view

// columns: [key, name] of a group's numbers; by: the key they are sorted by; text(number, key): how one is shown; whole: what
// 100 % is; explain(name): what a column's name means, for a tooltip; matches(group): whether the search finds it; signed: what
// grew and what shrank has a colour; note: what stands below it; onCopy(text).
export function drawTable(place, { groups, columns, by, text, whole, signed, matches, explain = () => undefined, note = "", onChoose, onSort, onCopy }) {
    const found = sortGroups(groups, columns, by).filter(matches);
    if (sorted.all === found.length && sorted.all === sorted.list.length && sorted.place === place) return; // it shows all of these
    sorted.all = found.length;
    sorted.place = place;
    const look = { columns, by, text, whole, signed, onChoose, onCopy };
    const head = heads(columns, by, explain, onSort);
    const table = element("table", { class: "groups", "aria-rowcount": String(found.length + 1) }, head, ...chunks(place, found, look));
    place.replaceChildren(table, element("p", { class: "quiet" }, found.length === 0 ? "Nothing." : note));
    place.scrollTop = 0;
}

let sorted = {}; // the last groups in order, which a search does not change; all: how many of them the table of that place shows

// Last is what is the rest of all, such as what has no line of the application.
function sortGroups(groups, columns, by) {
    if (sorted.groups !== groups || sorted.by !== by) {
        const list = groups.filter((group) => columns.some(([key]) => group[key] !== 0));
        const size = Float64Array.from(list, (group) => (group.last ? -1 : Math.abs(group[by])));
        const order = Uint32Array.from(list, (_, i) => i).sort((a, b) => size[b] - size[a] || (list[a].name < list[b].name ? -1 : 1));
        sorted = { groups, by, list: Array.from(order, (i) => list[i]) };
    }
    return sorted.list;
}

// The rows as text that programs read: amounts are plain numbers.
export function csv(groups, columns, by) {
    const cell = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    const line = (cells) => `${cells.map(cell).join(",")}\r\n`;
    return line([...columns.map(([, name]) => name), "name", "where"]) + sortGroups(groups, columns, by)
        .map((group) => line([...columns.map(([key]) => group[key]), group.name, group.detail ?? ""])).join("");
}

function heads(columns, by, explain, onSort) {
    const sortable = ([key, name]) => {
        const button = element("button", { type: "button", title: explain(name) }, name);
        button.addEventListener("click", () => onSort(key));
        return element("th", { scope: "col", "aria-sort": by === key ? "descending" : "none" }, button);
    };
    const plain = ["share", "name"].map((name) => element("th", { scope: "col" }, name));
    return element("thead", {}, element("tr", {}, ...columns.map(sortable), ...plain));
}

// ---- rows in view ----

function chunks(place, found, look) {
    watched.get(place)?.disconnect();
    const bodies = new Map();
    const observer = new IntersectionObserver((changes) => {
        for (const { target, isIntersecting } of changes) {
            if (isIntersecting) fill(target, bodies.get(target), look);
            else empty(target, bodies.get(target), look);
        }
    }, { root: place, rootMargin: "600px 0px" });
    watched.set(place, observer);
    for (let first = 0; first < found.length; first += CHUNK) {
        const body = element("tbody");
        const chunk = { first, groups: found.slice(first, first + CHUNK), height: 0, filled: false };
        chunk.height = chunk.groups.length * ROW;
        bodies.set(body, chunk);
        if (first === 0) fill(body, chunk, look);
        else space(body, chunk, look);
        if (found.length > CHUNK) observer.observe(body);
    }
    return bodies.keys();
}

function fill(body, chunk, look) {
    if (chunk.filled) return;
    chunk.filled = true;
    body.replaceChildren(...chunk.groups.map((group, i) => groupRow(group, chunk.first + i, look)));
}

// A row that the keyboard is in stays.
function empty(body, chunk, look) {
    if (!chunk.filled || body.contains(document.activeElement)) return;
    chunk.height = body.getBoundingClientRect().height || chunk.height;
    chunk.filled = false;
    space(body, chunk, look);
}

function space(body, chunk, { columns }) {
    const cell = element("td", { colspan: String(columns.length + 2) });
    cell.style.height = `${chunk.height}px`;
    body.replaceChildren(element("tr", { class: "space", "aria-hidden": "true" }, cell));
}

function groupRow(group, number, { columns, by, text, whole, signed, onChoose, onCopy }) {
    const button = element("button", { type: "button", title: group.detail ?? group.name }, ...breakable(group.name));
    button.addEventListener("click", () => onChoose(group));
    const amounts = [...columns.map(([key]) => text(group[key], key)), formatShare(group[by], whole)];
    const name = element("td", { class: "name" }, button);
    if (group.hint) name.append(element("span", { class: "quiet" }, " ", ...breakable(group.hint)));
    if (onCopy) {
        const copy = element("button", { type: "button", class: "copy", title: "Copy this row", "aria-label": `Copy the row of ${group.name}` });
        copy.addEventListener("click", () => onCopy([...amounts, group.name, group.detail ?? ""].join("\t").trimEnd()));
        name.append(copy);
    }
    const change = !signed || group[by] === 0 ? undefined : group[by] > 0 ? "grew" : "shrank";
    return element("tr", { class: change, "aria-rowindex": String(number + 2) },
        ...amounts.map((amount) => element("td", { class: "number" }, amount)), name);
}
