// bars.js - a whole and its parts as one bar, with a legend: the RSS ladder, the ages.

import { BAR_COLOURS, placesByName, stepColour } from "./colours.js";
import { element } from "./dom.js";
import { formatChange, formatShare, formatValue } from "./format.js";

// parts: [{ name, value }], shown in their order; ordered: the order means something, and so does the
// colour. Of a difference, widths are without the sign.
export function drawBar(place, { title, parts, unit, signed, total, ordered }) {
    const whole = parts.reduce((sum, part) => sum + Math.abs(part.value), 0);
    place.hidden = whole === 0;
    if (place.hidden) return;
    const text = (value) => (signed ? formatChange(value, unit) : formatValue(value, unit));
    const say = (part) => `${part.name}: ${text(part.value)} (${formatShare(part.value, whole)})`;
    const shown = parts.filter((part) => part.value !== 0);
    const places = placesByName(shown.map((part) => part.name), BAR_COLOURS);
    const paint = (piece, i) => {
        if (signed) piece.classList.add(shown[i].value > 0 ? "grew" : "shrank");
        else if (ordered) piece.style.background = stepColour(i / Math.max(1, shown.length - 1));
        else piece.classList.add(`part${places.get(shown[i].name)}`);
        return piece;
    };

    const bar = element("div", { class: "bar", role: "img", "aria-label": `${title}: ${shown.map(say).join(", ")}` });
    const legend = element("ul", { class: "legend" });
    shown.forEach((part, i) => {
        const piece = paint(element("span", { title: say(part), class: "part" }), i);
        piece.style.flexGrow = String(Math.abs(part.value) / whole);
        bar.append(piece);
        const swatch = paint(element("span", { class: "swatch" }), i);
        legend.append(element("li", {}, swatch, `${part.name} `, element("b", {}, text(part.value))));
    });
    place.replaceChildren(element("h2", {}, `${title}: ${text(total)}`), bar, legend);
}
