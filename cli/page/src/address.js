// address.js - what a page shows, in its address, so that a link or a bookmark shows it again.

// The fields of the address behind "#".
export function readAddress() {
    return new URLSearchParams(location.hash.slice(1));
}

// fields: { name: text, or undefined to leave it out }. step: the browser's "back" leads to what was there before.
export function writeAddress(fields, step) {
    const kept = Object.entries(fields).flatMap(([name, value]) => [].concat(value ?? []).map((one) => [name, String(one)]));
    const hash = `#${new URLSearchParams(kept)}`;
    if (hash === location.hash || (hash === "#" && location.hash === "")) return;
    if (step) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
}
