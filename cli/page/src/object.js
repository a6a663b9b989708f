// object.js - all that the page has of one object.

import { drawCode } from "./code.js";
import { element } from "./dom.js";
import { formatValue } from "./format.js";
import { explained, meaning } from "./terms.js";

const bytes = (value) => formatValue(value, "bytes");

export function objectName(object) {
    return `${object.name} ${object.address}`;
}

// has(address): whether the page has that object; source(file): the lines that it has of a file; line: which frame of the stack
// is shown, or null. onChoose(address): that object is to be shown; onLine(frame): that frame; onPlace: the object's place in
// the tree.
export function drawObject(place, object, { has, source, line, onChoose, onLine, onPlace, onClose }) {
    const button = (text, action) => {
        const made = element("button", { type: "button" }, text);
        made.addEventListener("click", action);
        return made;
    };
    const list = (title, references, count) => referenceTable(title, references, count, { has, onChoose });
    place.replaceChildren(
        element("h2", { tabindex: "-1" }, objectName(object), " ", button("Close", onClose)),
        element("p", {}, ...explained(`${object.type}, ${object.flags}; ${bytes(object.bytes)}, retains ${bytes(object.retained)}`), " ",
            button("Show in the tree", onPlace)),
        element("p", {}, ...explained(`Kept alive by ${object.way}`)),
        ...stackOf(object, source, line, onLine),
        ...list("is kept by", object.keptBy ? [object.keptBy] : [], object.keptBy ? 1 : 0),
        ...list("refers to", object.to, object.toCount),
        ...list("is referred to by", object.from, object.fromCount),
        ...list("keeps, the largest first", object.keeps, object.keepsCount),
    );
}

// Where the object was allocated, and the code there: of the frame that was chosen, otherwise of the application's innermost one
// that the page has code of.
function stackOf({ stack }, source, line, onLine) {
    if (stack.length === 0) return [];
    const withCode = (frame) => frame.line > 0 && source(frame.source) !== undefined;
    const shown = stack[line] ?? stack.find((frame) => frame.own && withCode(frame)) ?? stack.find(withCode) ??
        stack.find((frame) => frame.own && frame.file) ?? stack.find((frame) => frame.file);
    const frames = stack.map((frame, i) => {
        const text = `${frame.file ? `${frame.file}:${frame.line} ` : ""}${frame.method}`;
        if (!withCode(frame)) return element("li", {}, text);
        const button = element("button", { type: "button", "aria-pressed": String(frame === shown) }, text);
        button.addEventListener("click", () => onLine(i));
        return element("li", {}, button);
    });
    const code = element("div", { class: "code-of-stack" });
    if (shown) drawCode(code, { path: shown.file, source: source(shown.source), command: "heapprof graph view", current: shown.line });
    return [element("p", {}, "Allocated at"), element("ol", { class: "stack" }, ...frames), code];
}

function referenceTable(title, references, count, links) {
    if (count === 0) return [element("h3", {}, ...explained(`${title}: nothing`))];
    const body = element("tbody", {}, ...references.map((reference) => referenceRow(reference, links)));
    const heads = ["label", "object", "bytes", "retains"].map((name) => element("th", { scope: "col", title: meaning(name) }, name));
    const more = count - references.length;
    return [
        element("h3", {}, ...explained(title)),
        element("table", { class: "groups" }, element("thead", {}, element("tr", {}, ...heads)), body),
        element("p", { class: "quiet" }, more > 0 ? `and ${more.toLocaleString("en")} more` : ""),
    ];
}

function referenceRow(reference, { has, onChoose }) {
    const root = reference.address === undefined;
    const name = root ? "(a root)" : objectName(reference);
    const numbers = root ? ["", ""] : [bytes(reference.bytes), bytes(reference.retained)];
    let what = element("span", {}, ...explained(name));
    if (!root && has(reference.address)) {
        what = element("button", { type: "button", title: meaning(name) }, name);
        what.addEventListener("click", () => onChoose(reference.address));
    }
    return element("tr", {}, element("td", {}, ...explained(reference.label)), element("td", {}, what),
        ...numbers.map((number) => element("td", { class: "number" }, number)));
}
