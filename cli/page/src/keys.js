// keys.js - the flame graph by keyboard: arrows go from frame to frame, Enter zooms, Escape zooms out.

// What frame a key leads to, from the selected one; undefined: none, or another kind of key.
export function neighbour(profile, sums, frame, key) {
    if (key === "ArrowUp") return frame > 0 ? profile.frameParent[frame] : undefined;
    if (key === "ArrowDown") return widestFirst(profile, sums, frame)[0];
    if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
    if (frame === 0) return undefined;
    const siblings = widestFirst(profile, sums, profile.frameParent[frame]);
    return siblings[siblings.indexOf(frame) + (key === "ArrowLeft" ? -1 : 1)];
}

function widestFirst(profile, sums, frame) {
    const { start, list } = profile.children;
    return [...list.subarray(start[frame], start[frame + 1])]
        .filter((child) => sums.width[child] > 0)
        .sort((a, b) => sums.width[b] - sums.width[a]);
}

// What of it the page is told: sums() and selected() are as they are now, zoom(frame) and select(frame) change it. "/" goes
// to the search.
export function listenToKeys(flame, search, { profile, sums, selected, zoom, select }) {
    flame.addEventListener("keydown", (event) => {
        if (event.key === "Enter") zoom(selected());
        else if (event.key === "Escape") zoom(0);
        else {
            const frame = neighbour(profile, sums(), selected(), event.key);
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
