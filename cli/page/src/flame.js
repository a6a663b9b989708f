// flame.js - the flame graph, which d3-flame-graph draws.
//
// It is given only what can be seen: frames that are wide enough in what is zoomed to, and of
// those the MOST widest. What is narrower stands together as one frame at its caller's end. So a
// profile of any size is drawn as fast; zooming in shows what was too narrow before.

import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";

const ROW = 20; // pixels
const MOST = 3000;
const NARROWEST = 1 / 2000; // of the width

export function createFlame(element, { describe, colour, onZoom, onSelect }) {
    const chart = flamegraph()
        .cellHeight(ROW)
        .inverted(true)
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
        draw(profile, sums, zoomed) {
            chart.width(Math.max(200, element.clientWidth));
            const data = visibleFrames(profile, sums, zoomed);
            if (drawn) chart.update(data);
            else select(element).datum(data).call(chart);
            drawn = true;
            settle(element, chart.width());
        },
        mark(frame) {
            select(element).selectAll("g.frame").classed("selected", (d) => d.data.frame === frame);
        },
    };
}

// Frames stand where they belong at once: d3-flame-graph widens new ones within a quarter of a second,
// whatever duration it is told.
function settle(element, width) {
    const frames = select(element).selectAll("g.frame").interrupt();
    frames.attr("transform", (d) => `translate(${d.x0 * width},${d.depth * ROW})`);
    frames.select("rect").interrupt().attr("width", (d) => (d.x1 - d.x0) * width);
    frames.select("div").interrupt().text((d) => d.data.name);
}

// The tree that is drawn: { name, value, frame, fade, rest, children }. rest: how many frames stand
// together here; fade: what is zoomed to lies below.
export function visibleFrames(profile, sums, zoomed) {
    const least = narrowest(profile, sums, zoomed);
    const top = branch(profile, sums, zoomed, least);
    let data = top;
    for (let frame = profile.frameParent[zoomed]; zoomed > 0 && frame >= 0; ) {
        data = { ...leaf(profile, frame, top.value), fade: true, children: [data] };
        frame = profile.frameParent[frame];
    }
    return data;
}

function leaf(profile, frame, value) {
    const f = profile.frameFunction[frame];
    const name = f < 0 ? "all" : profile.strings[profile.functions.name[f]];
    return { name, value, frame, children: [] };
}

function branch(profile, sums, zoomed, least) {
    const { start, list } = profile.children;
    const top = leaf(profile, zoomed, sums.width[zoomed]);
    const todo = [top];
    while (todo.length > 0) {
        const above = todo.pop();
        const below = [...list.subarray(start[above.frame], start[above.frame + 1])];
        below.sort((a, b) => sums.width[b] - sums.width[a]);
        const shown = below.filter((frame) => sums.width[frame] >= least);
        above.children = shown.map((frame) => leaf(profile, frame, sums.width[frame]));
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
function narrowest(profile, sums, zoomed) {
    const least = Math.max(Number.MIN_VALUE, sums.width[zoomed] * NARROWEST);
    const wide = sums.width.filter((width) => width >= least);
    if (wide.length <= MOST) return least;
    return wide.sort().at(-MOST);
}
