// changes.js - the rows of `heapprof graph diff`: what has grown from dump to dump, and what holds it.

import { element } from "./dom.js";
import { formatChange, formatValue } from "./format.js";
import { explained, meaning } from "./terms.js";

const bytes = (value) => formatValue(value, "bytes");
const change = (value) => formatChange(value, "bytes");

// by: the key of the column that the rows are sorted by, the largest first; null: as they come, what grew each time first.
// has(address): whether the page has that object; onChoose(address): it is to be shown.
export function drawChanges(place, diff, { by, has, onChoose, onSort }) {
    const columns = columnsOf(diff);
    const sorted = columns.find(({ key }) => key === by);
    const rows = sorted ? [...diff.rows].sort((a, b) => sorted.value(b) - sorted.value(a)) : diff.rows;
    const body = element("tbody", {}, ...rows.map((row) => changeRow(row, columns, { has, onChoose })));
    const table = element("table", { class: "groups" }, heads(columns, by, onSort), body, rest(diff, columns));
    place.replaceChildren(
        element("h2", {}, ...explained(`${change(diff.growth)} of growth: ${diff.bytes.map(bytes).join(" → ")}`)),
        ...notes(diff).map((note) => element("p", { class: "quiet" }, note)),
        element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What has grown" }, table));
}

// Where the growth of each step comes from: { key, name, value(row), text(value), rest }.
function columnsOf(diff) {
    const steps = diff.names.length < 3 ? [] : diff.names.slice(1).map((_, i) => ({
        key: `step${i}`, name: `${i + 1} → ${i + 2}`, value: (row) => row.by_step[i], text: change }));
    return [
        { key: "growth", name: "growth", value: (row) => row.growth, text: change, rest: diff.rest },
        ...steps,
        { key: "new", name: "new", value: (row) => row.new.bytes, text: bytes },
        { key: "freed", name: "freed", value: (row) => row.freed.bytes, text: bytes },
        { key: "grown", name: "in place", value: (row) => row.grown, text: change },
    ];
}

function notes(diff) {
    return [
        diff.names.length > 2 && "What grew each time is first.",
        diff.inexact && `Objects are paired by their places, not by identity: ${diff.inexact}.`,
        diff.rows.length === 0 && "Nothing grew or shrank by more than a thousandth.",
    ].filter((note) => note);
}

function heads(columns, by, onSort) {
    const sortable = ({ key, name }) => {
        const button = element("button", { type: "button", title: meaning(name) }, name);
        button.addEventListener("click", () => onSort(by === key ? null : key));
        return element("th", { scope: "col", "aria-sort": by === key ? "descending" : "none" }, button);
    };
    const plain = ["what holds it, and what is new", "held by"].map((name) => element("th", { scope: "col" }, name));
    return element("thead", {}, element("tr", {}, ...columns.map(sortable), ...plain));
}

function changeRow(row, columns, links) {
    return element("tr", { class: row.growth > 0 ? "grew" : row.growth < 0 ? "shrank" : undefined },
        ...columns.map(({ value, text }) => element("td", { class: "number" }, text(value(row)))),
        element("td", {}, objectLink(row.example, row.what, links)),
        element("td", {}, row.holder ? objectLink(row.holder, row.holder.name, links) : "(roots)"));
}

function objectLink(object, text, { has, onChoose }) {
    if (!object || !has(object.address)) return element("span", { title: meaning(text) }, text);
    const button = element("button", { type: "button", title: meaning(text) }, text);
    button.addEventListener("click", () => onChoose(object.address));
    return button;
}

function rest(diff, columns) {
    const left = diff.rowsLeftOut > 0 ? `the rest: ${diff.rowsLeftOut.toLocaleString("en")} more rows, and smaller changes` : "the rest";
    const cells = columns.map((column) => element("td", { class: "number" }, column.rest === undefined ? "" : column.text(column.rest)));
    return element("tfoot", {}, element("tr", {}, ...cells, element("td", { colspan: "2" }, ...explained(left))));
}
