// flame.js - the flame graph, which d3-flame-graph draws.
//
// It is given only what can be seen: frames that are wide enough in what is zoomed to, and of
// those the MOST widest. What is narrower stands together as one frame at its caller's end. So a
// profile of any size is drawn as fast; zooming in shows what was too narrow before.

import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import { insideOf } from "./sums.js";

const ROW = 20; // pixels
const MOST = 3000;
const NARROWEST = 1 / 2000; // of the width

// upward: callers stand above what they call, and the root is at the bottom.
export function createFlame(element, { describe, colour, onZoom, onSelect, upward = false }) {
    const chart = flamegraph()
        .cellHeight(ROW)
        .inverted(!upward)
        .sort(false)
        .transitionDuration(0)
        .resetHeightOnZoom(true)
        .setLabelHandler((d) => describe(d.data))
        .setColorMapper((d) => colour(d.data))
        .setDetailsHandler(() => {})
        .onClick((d) => onZoom(d.data))
        .onHover((d) => onSelect(d.data));
    let drawn = false;

    return {
        draw(tree, sums, zoomed) {
            chart.width(Math.max(200, element.clientWidth));
            const data = visibleFrames(tree, sums, zoomed);
            if (drawn) chart.update(data);
            else select(element).datum(data).call(chart);
            drawn = true;
            settle(element, chart.width(), upward);
        },
        // Other colours of the frames that are drawn.
        paint() {
            for (const frame of element.querySelectorAll("g.frame")) {
                const rect = frame.querySelector("rect"), fill = colour(select(frame).datum().data);
                if (rect.getAttribute("fill") !== fill) rect.setAttribute("fill", fill);
            }
        },
        mark(frame) {
            select(element).selectAll("g.frame").classed("selected", (d) => d.data.frame === frame && !d.data.rest);
        },
        // Scrolls to a frame; false: it is not drawn.
        show(frame) {
            const found = select(element).selectAll("g.frame").filter((d) => d.data.frame === frame && !d.data.rest).node();
            found?.scrollIntoView({ block: "nearest", inline: "nearest" });
            return found !== null;
        },
    };
}

// Frames stand where they belong at once: d3-flame-graph widens new ones within a quarter of a second,
// whatever duration it is told.
function settle(element, width, upward) {
    const frames = select(element).selectAll("g.frame").interrupt();
    const rows = 1 + Math.max(0, ...frames.data().map((d) => d.depth));
    const top = (d) => ROW * (upward ? rows - 1 - d.depth : d.depth);
    select(element).select("svg").attr("height", rows * ROW);
    frames.attr("transform", (d) => `translate(${d.x0 * width},${top(d)})`);
    frames.classed("fold", (d) => d.data.fold);
    frames.select("rect").interrupt().attr("width", (d) => (d.x1 - d.x0) * width);
    frames.select("div").interrupt().text((d) => d.data.name);
}

// The tree that is drawn: { name, value, frame, fade, rest, fold, children }. rest: how many frames stand
// together here; fade: what is zoomed to lies below; fold: it unfolds.
export function visibleFrames(tree, sums, zoomed) {
    const least = narrowest(tree, sums, zoomed);
    const top = branch(tree, sums, zoomed, least);
    let data = top;
    for (let frame = tree.frameParent[zoomed]; zoomed > 0 && frame >= 0; ) {
        data = { ...leaf(tree, frame, top.value), fade: true, children: [data] };
        frame = tree.frameParent[frame];
    }
    return data;
}

function leaf(tree, frame, value) {
    return { name: tree.nameOf(frame), value, frame, fold: tree.heads(frame).length > 0, children: [] };
}

function branch(tree, sums, zoomed, least) {
    const { start, list } = tree.children;
    const top = leaf(tree, zoomed, sums.width[zoomed]);
    const todo = [top];
    while (todo.length > 0) {
        const above = todo.pop();
        const below = [...list.subarray(start[above.frame], start[above.frame + 1])];
        below.sort((a, b) => sums.width[b] - sums.width[a]);
        const shown = below.filter((frame) => sums.width[frame] >= least);
        above.children = shown.map((frame) => leaf(tree, frame, sums.width[frame]));
        todo.push(...above.children);

        const hidden = below.slice(shown.length).filter((frame) => sums.width[frame] > 0);
        const value = hidden.reduce((sum, frame) => sum + sums.width[frame], 0);
        if (value >= least) above.children.push(rest(above.frame, hidden.length, value));
    }
    return top;
}

function rest(frame, count, value) {
    const name = count === 1 ? "1 smaller one" : `${count} smaller ones`;
    return { name, value, frame, rest: count, children: [] };
}

// The width below which a frame is not drawn: that of the MOST widest, if there are more.
function narrowest(tree, sums, zoomed) {
    const least = Math.max(Number.MIN_VALUE, sums.width[zoomed] * NARROWEST);
    const inside = zoomed > 0 ? insideOf(tree, zoomed) : null;
    const wide = sums.width.filter((width, frame) => width >= least && (!inside || inside[frame]));
    return wide.length <= MOST ? least : wide.sort().at(-MOST);
}
