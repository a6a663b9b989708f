// suspects.js - the suspects of a dump: how much each keeps, in words, and where to go on.

import { element } from "./dom.js";
import { formatValue } from "./format.js";
import { objectName } from "./object.js";
import { explained } from "./terms.js";

// example(i): one of the objects that the memory of a suspect consists of; empty: the dump has no objects. onOpen(address): that
// object is to be shown; onPlace(address): its place in the tree.
export function drawSuspects(place, suspects, { example, empty, onOpen, onPlace }) {
    const items = suspects.map(({ text, retained, gathered }, i) => element("li", {},
        element("b", { class: "amount" }, formatValue(retained, "bytes")),
        element("div", {}, ...clauses(text), element("p", { class: "links" },
            link(`Open the ${objectName(gathered)}`, () => onOpen(gathered.address)),
            link(`An example: ${objectName(example(i))}`, () => onOpen(example(i).address)),
            link("Show in the tree", () => onPlace(gathered.address))))));
    place.hidden = false;
    place.replaceChildren(element("h2", {}, items.length > 0 ? "Suspects" : none(empty)), element("ol", {}, ...items));
}

function none(empty) {
    return empty ? "This dump has no objects: it ends before the first one, or the process had none to show. Dump again." :
        "No suspects: nothing keeps more than 5% and 1 MB by itself. What grows between two dumps says more: heapprof graph view OLD NEW.";
}

// A suspect's sentence. Its first clause says what keeps how much; the further clauses stand below it. `Backticks` enclose code.
function clauses(text) {
    const [first, ...others] = text.split(/; (?=(?:[^`]*`[^`]*`)*[^`]*$)/); // not within code
    return [element("p", { class: "sentence" }, ...withCode(first)),
        ...others.map((clause) => element("p", { class: "quiet clause" }, ...withCode(clause)))];
}

function withCode(text) {
    return text.split("`").flatMap((piece, i) => (i % 2 === 1 ? [element("code", {}, piece)] : explained(piece)));
}

function link(text, action) {
    const button = element("button", { type: "button", class: "suspect" }, text);
    button.addEventListener("click", action);
    return button;
}
