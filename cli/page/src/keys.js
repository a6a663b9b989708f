// keys.js - the flame graph by keyboard: arrows go from frame to frame, Enter zooms, Escape zooms out.

// What frame a key leads to, from the selected one; undefined: none, or another kind of key. Frames above the one that is zoomed
// to stand alone.
export function neighbour(tree, sums, frame, key, zoomed = 0) {
    let below = zoomed; // on the way down to what is zoomed to: the frame below this one
    while (below > 0 && below !== frame && tree.frameParent[below] !== frame) below = tree.frameParent[below];
    const above = below > 0 && below !== frame;
    if (key === "ArrowUp") return frame > 0 ? tree.frameParent[frame] : undefined;
    if (key === "ArrowDown") return above ? below : widestFirst(tree, sums, frame)[0];
    if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
    if (frame === zoomed || above || frame === 0) return undefined;
    const siblings = widestFirst(tree, sums, tree.frameParent[frame]);
    return siblings[siblings.indexOf(frame) + (key === "ArrowLeft" ? -1 : 1)];
}

function widestFirst(tree, sums, frame) {
    const { start, list } = tree.children;
    return [...list.subarray(start[frame], start[frame + 1])]
        .filter((child) => sums.width[child] > 0)
        .sort((a, b) => sums.width[b] - sums.width[a]);
}

// What of it the page is told: tree(), sums(), selected() and zoomed() are as they are now, zoom(frame) and select(frame) change it,
// copy() copies the selected frame's stack. "/" goes to the search.
export function listenToKeys(flame, search, { tree, sums, selected, zoomed, zoom, select, copy }) {
    flame.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "Enter") zoom(selected());
        else if (event.key === "Escape") zoom(0);
        else if (event.key === "c" && copy) copy();
        else {
            const frame = neighbour(tree(), sums(), selected(), event.key, zoomed());
            if (frame === undefined) return;
            select(frame);
        }
        event.preventDefault();
    });
    document.addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.target.matches("input, select")) return;
        search.focus();
        event.preventDefault();
    });
}
