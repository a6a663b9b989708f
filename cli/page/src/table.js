// table.js - the groups, the largest first.

import { element } from "./dom.js";
import { formatShare } from "./format.js";

const SHOWN = 200;

// columns: [key, name] of a group's numbers; by: the key they are sorted by; text(number, key): how one is shown; whole: what
// 100 % is; explain(name): what a column's name means, for a tooltip; matches(group): whether the search finds it; signed: what
// grew and what shrank has a colour.
export function drawTable(place, { groups, columns, by, text, whole, signed, matches, explain = () => undefined, onChoose, onSort }) {
    const found = groups.filter((group) => columns.some(([key]) => group[key] !== 0) && matches(group));
    found.sort((a, b) => Math.abs(b[by]) - Math.abs(a[by]) || (a.name < b.name ? -1 : 1));

    const body = element("tbody");
    for (const group of found.slice(0, SHOWN)) body.append(groupRow(group, { columns, by, text, whole, signed, onChoose }));
    const table = element("table", { class: "groups" }, heads(columns, by, explain, onSort), body);
    const more = found.length - Math.min(SHOWN, found.length);
    const note = found.length === 0 ? "Nothing." : more > 0 ? `and ${more} more` : "";
    place.replaceChildren(table, element("p", { class: "quiet" }, note));
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

function groupRow(group, { columns, by, text, whole, signed, onChoose }) {
    const button = element("button", { type: "button", title: group.detail ?? group.name }, group.name);
    button.addEventListener("click", () => onChoose(group));
    const change = !signed || group[by] === 0 ? undefined : group[by] > 0 ? "grew" : "shrank";
    return element("tr", { class: change },
        ...columns.map(([key]) => element("td", { class: "number" }, text(group[key], key))),
        element("td", { class: "number" }, formatShare(group[by], whole)),
        element("td", {}, button, group.hint ? element("span", { class: "quiet" }, ` ${group.hint}`) : ""));
}
