// colours.js - what a frame's colour says: whose code it is, or in a difference how it changed.
//
// Text on all of them is black, so none is dark, in light and in dark surroundings.

const NEUTRAL = "rgb(222, 222, 222)";
const FOUND = "rgb(214, 125, 255)";

// share: from -1, all of it went, to 1, all of it came. Blue and red, which people who do not see
// red and green apart do tell apart.
export function changeColour(share) {
    const strength = Math.min(1, Math.abs(share));
    const to = share > 0 ? [255, 96, 80] : [90, 150, 255];
    const mixed = to.map((part) => Math.round(235 + (part - 235) * strength));
    return `rgb(${mixed.join(", ")})`;
}

// kind: "app", "gem" or "library"; name: what gets a shade of its own.
export function originColour(kind, name) {
    const spread = hash(name);
    if (kind === "app") return `hsl(${18 + (spread % 24)}, 95%, ${62 + (spread % 9)}%)`;
    if (kind === "gem") return `hsl(${70 + (spread % 140)}, 48%, ${70 + (spread % 8)}%)`;
    return `hsl(${200 + (spread % 40)}, ${18 + (spread % 10)}%, ${78 + (spread % 9)}%)`;
}

// From 0 to 1, for what has an order.
export function stepColour(step) {
    return `hsl(${200 + 50 * step}, 62%, ${78 - 38 * step}%)`;
}

export { FOUND, NEUTRAL };

function hash(text) {
    let sum = 7;
    for (let i = 0; i < text.length; i++) sum = (sum * 31 + text.charCodeAt(i)) >>> 0;
    return sum;
}
