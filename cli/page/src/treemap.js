// treemap.js - the dominator tree as areas: a rectangle is as large as what its frame retains, and in it are those of its children.
//
// d3-hierarchy lays it out. It shows what the flame graph does (flame.js), but nothing above the frame that is zoomed to;
// what is too small to be seen is blank in its parent.

import { hierarchy, treemap } from "d3-hierarchy";
import { select } from "d3-selection";
import { visibleFrames } from "./flame.js";

const HEAD = 18;  // pixels above the children, for the name
const LEAST = 4;  // pixels, in both directions
const LETTER = 7; // pixels, about

export function createTreemap(element, { describe, colour, onZoom, onSelect }) {
    return {
        draw(tree, sums, zoomed) {
            const width = Math.max(200, element.clientWidth), height = Math.max(200, Math.min(0.6 * window.innerHeight, 0.7 * width));
            element.replaceChildren();
            const svg = select(element).append("svg").attr("width", width).attr("height", height);
            const frames = svg.selectAll("g").data(rectangles(tree, sums, zoomed, width, height)).join("g").attr("class", "frame")
                .attr("name", (d) => d.data.name)
                .attr("transform", (d) => `translate(${d.x0},${d.y0})`)
                .on("click", (_, d) => onZoom(outermost(d) ? { ...d.data, frame: Math.max(0, tree.frameParent[zoomed]) } : d.data))
                .on("mouseover", (_, d) => onSelect(d.data));
            frames.append("title").text((d) => describe(d.data));
            frames.append("rect").attr("width", widthOf).attr("height", heightOf).attr("fill", (d) => colour(d.data));
            frames.filter((d) => heightOf(d) >= HEAD).append("text").attr("x", 4).attr("y", 13)
                .text((d) => shortened(d.data.name, Math.floor((widthOf(d) - 8) / LETTER)));
        },
        mark(frame) {
            select(element).selectAll("g.frame").classed("selected", (d) => d.data.frame === frame && !d.data.rest);
        },
    };
}

const widthOf = (d) => d.x1 - d.x0;
const heightOf = (d) => d.y1 - d.y0;
const outermost = (d) => d.depth === 0;

// Parents before their children, which are drawn over them.
function rectangles(tree, sums, zoomed, width, height) {
    const root = hierarchy(zoomedTo(visibleFrames(tree, sums, zoomed), zoomed)).sum(withoutChildren);
    treemap().size([width, height]).paddingTop(HEAD).paddingInner(1).paddingRight(2).paddingBottom(2).paddingLeft(2)(root);
    return root.descendants().filter((d) => widthOf(d) >= LEAST && heightOf(d) >= LEAST);
}

// Frames above it have one child each.
function zoomedTo(data, zoomed) {
    while (data.frame !== zoomed) [data] = data.children;
    return data;
}

function withoutChildren({ value, children }) {
    return Math.max(0, value - children.reduce((sum, child) => sum + child.value, 0));
}

function shortened(name, length) {
    if (length < 3) return "";
    return name.length > length ? `${name.slice(0, length - 1)}…` : name;
}
