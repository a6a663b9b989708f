// colours.js - what a colour says: whose code a frame is, or in a difference how much it grew or shrank.
//
// Text on all of them is black, so none is dark, in light and in dark surroundings.

const NEUTRAL = "rgb(222, 222, 222)";
const FOUND = "rgb(214, 125, 255)";
const DECADES = 3; // from the palest to the strongest colour of a change

// The colour of a change, of which most is the largest one in the picture: each tenth of it is paler by a step. Blue and red, which
// people who do not see red and green apart do tell apart.
export function changeColour(change, most) {
    if (change === 0 || most === 0) return mix([255, 96, 80], 0);
    const strength = Math.min(1, Math.max(0.15, 1 + Math.log10(Math.abs(change) / most) / DECADES));
    return mix(change > 0 ? [255, 96, 80] : [90, 150, 255], strength);
}

// The amounts of the legend, from the one that shrank most to the one that grew most.
export function changeSteps(most) {
    const steps = Array.from({ length: DECADES }, (_, i) => most / 10 ** i);
    return [...steps.map((step) => -step), ...steps.reverse()];
}

function mix(to, strength) {
    return `rgb(${to.map((part) => Math.round(235 + (part - 235) * strength)).join(", ")})`;
}

// kind: "app" or "library"; name: what gets a shade of its own.
export function originColour(kind, name) {
    const spread = hash(name);
    if (kind === "app") return `hsl(${18 + (spread % 24)}, 95%, ${62 + (spread % 9)}%)`;
    return `hsl(${200 + (spread % 40)}, ${18 + (spread % 10)}%, ${78 + (spread % 9)}%)`;
}

// Of gems: none is orange, as the application is, or grey, as Ruby is.
const GEMS = [60, 85, 110, 140, 165, 190, 215, 240].flatMap((hue) => [`hsl(${hue}, 60%, 79%)`, `hsl(${hue}, 42%, 65%)`]);
export const classColour = (name) => GEMS[hash(name) % GEMS.length];
export const BAR_COLOURS = 16; // .part0 and so on, in style.css

export function gemColours(names) {
    const places = placesByName(names, GEMS.length);
    return new Map(names.map((name) => [name, GEMS[places.get(name)]]));
}

// A place for each name, by the name: the same one on each page, unless two names want the same. Places are used twice when there
// are more names than places.
export function placesByName(names, count) {
    const places = new Map();
    const used = new Uint32Array(count);
    for (const name of [...names].sort()) {
        let place = hash(name) % count;
        const least = Math.min(...used);
        while (used[place] > least) place = (place + 1) % count;
        used[place]++;
        places.set(name, place);
    }
    return places;
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
