// object.js - all that the page has of one object.

import { element } from "./dom.js";
import { formatValue } from "./format.js";

const bytes = (value) => formatValue(value, "bytes");

export function objectName(object) {
    return `${object.name} ${object.address}`;
}

// has(address): whether the page has that object; onChoose(address): it is to be shown.
export function drawObject(place, object, { has, onChoose, onClose }) {
    const close = element("button", { type: "button" }, "Close");
    close.addEventListener("click", onClose);
    const list = (title, references, count) => referenceTable(title, references, count, { has, onChoose });
    place.replaceChildren(
        element("h2", {}, objectName(object), " ", close),
        element("p", {}, `${object.type}, ${object.flags}; ${bytes(object.bytes)}, retains ${bytes(object.retained)}`),
        element("p", {}, `Alive by ${object.way}`),
        ...stackOf(object),
        ...list("is kept by", object.keptBy ? [object.keptBy] : [], object.keptBy ? 1 : 0),
        ...list("refers to", object.to, object.toCount),
        ...list("is referred to by", object.from, object.fromCount),
        ...list("keeps, the largest first", object.keeps, object.keepsCount),
    );
}

function stackOf(object) {
    if (object.stack.length === 0) return [];
    const frames = object.stack.map(({ file, line, method }) => element("li", {}, `${file ? `${file}:${line} ` : ""}${method}`));
    return [element("p", {}, "Allocated at"), element("ol", { class: "stack" }, ...frames)];
}

function referenceTable(title, references, count, links) {
    if (count === 0) return [element("h3", {}, `${title}: nothing`)];
    const body = element("tbody", {}, ...references.map((reference) => referenceRow(reference, links)));
    const heads = ["label", "object", "bytes", "retains"].map((name) => element("th", { scope: "col" }, name));
    const more = count - references.length;
    return [
        element("h3", {}, title),
        element("table", { class: "groups" }, element("thead", {}, element("tr", {}, ...heads)), body),
        element("p", { class: "quiet" }, more > 0 ? `and ${more.toLocaleString("en")} more` : ""),
    ];
}

function referenceRow(reference, { has, onChoose }) {
    const root = reference.address === undefined;
    const name = root ? "(a root)" : objectName(reference);
    const numbers = root ? ["", ""] : [bytes(reference.bytes), bytes(reference.retained)];
    let what = name;
    if (!root && has(reference.address)) {
        what = element("button", { type: "button" }, name);
        what.addEventListener("click", () => onChoose(reference.address));
    }
    return element("tr", {}, element("td", {}, reference.label), element("td", {}, what),
        ...numbers.map((number) => element("td", { class: "number" }, number)));
}
