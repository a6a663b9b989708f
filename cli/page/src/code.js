// code.js - lines of a source file that the page has, block by block, and one of them marked.

import { element } from "./dom.js";

// source: { changed, blocks }, undefined if the page does not have the file; heads: the names of the columns before the line's
// number; cells(number): what stands in these; current: the line that is marked and scrolled to.
export function drawCode(place, { path, source, command, heads = [], cells = () => [], current }) {
    if (!source) {
        place.replaceChildren(element("p", { class: "quiet" }, noSource(path, command)));
        return;
    }
    const names = [...heads, "line", "source"];
    const body = element("tbody");
    source.blocks.forEach(([first, texts], block) => {
        if (block > 0) body.append(element("tr", { class: "gap" }, element("td", { colspan: String(names.length) }, "⋯")));
        texts.forEach((text, i) => body.append(lineRow(first + i, text, cells(first + i), current)));
    });
    const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
    const table = element("table", { class: "source" }, element("thead", {}, head), body);
    const note = source.changed ? `${path} (changed since the profile or dump was taken)` : path;
    const pane = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Lines of ${path}` }, table);
    place.replaceChildren(element("p", { class: "quiet" }, note), pane);
    const marked = body.querySelector(".current");
    if (marked) pane.scrollTop = marked.offsetTop - pane.clientHeight / 2;
}

function lineRow(number, text, cells, current) {
    const used = cells.some((cell) => cell !== "");
    return element("tr", { class: number === current ? "current" : used ? "used" : undefined },
        ...[...cells, String(number)].map((cell) => element("td", { class: "number" }, cell)),
        element("td", { class: "code" }, text));
}

function noSource(path, command) {
    return path === "" ? "This frame has no file." : `The page has no source of this file (${command} --sources=DIR): ${path}`;
}
