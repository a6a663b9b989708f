// table.js - the groups, the largest first.

import { element } from "./dom.js";
import { formatChange, formatShare, formatValue } from "./format.js";

const SHOWN = 200;

// groups: what a grouping lists; matches(group): whether the search finds it; whole: what 100 % is.
export function drawTable(place, { groups, nested, by, unit, signed, whole, matches, onChoose, onSort }) {
    const found = groups.filter((group) => (group.self !== 0 || group.total !== 0) && matches(group));
    found.sort((a, b) => Math.abs(b[by]) - Math.abs(a[by]) || (a.name < b.name ? -1 : 1));
    const text = (value) => (signed ? formatChange(value, unit) : formatValue(value, unit));

    const body = element("tbody");
    for (const group of found.slice(0, SHOWN)) body.append(groupRow(group, { nested, by, text, whole, signed, onChoose }));
    const table = element("table", { class: "groups" }, heads(nested, by, onSort), body);
    const more = found.length - Math.min(SHOWN, found.length);
    const note = found.length === 0 ? "Nothing." : more > 0 ? `and ${more} more` : "";
    place.replaceChildren(table, element("p", { class: "quiet" }, note));
}

function heads(nested, by, onSort) {
    const sortable = (key, name) => {
        const button = element("button", { type: "button" }, name);
        button.addEventListener("click", () => onSort(key));
        return element("th", { scope: "col", "aria-sort": by === key ? "descending" : "none" }, button);
    };
    const numbers = nested ? [sortable("self", "self"), sortable("total", "with calls")] : [sortable("total", "held")];
    const plain = ["share", "name"].map((name) => element("th", { scope: "col" }, name));
    return element("thead", {}, element("tr", {}, ...numbers, ...plain));
}

function groupRow(group, { nested, by, text, whole, signed, onChoose }) {
    const button = element("button", { type: "button", title: group.detail ?? group.name }, group.name);
    button.addEventListener("click", () => onChoose(group));
    const numbers = nested ? [group.self, group.total] : [group.total];
    const change = !signed || group[by] === 0 ? undefined : group[by] > 0 ? "grew" : "shrank";
    return element("tr", { class: change },
        ...numbers.map((value) => element("td", { class: "number" }, text(value))),
        element("td", { class: "number" }, formatShare(group[by], whole)),
        element("td", {}, button, group.hint ? element("span", { class: "quiet" }, ` ${group.hint}`) : ""));
}
