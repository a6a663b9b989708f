// format.js - numbers and names as people read them; amounts as report/text.c writes them.

const BYTES = [[1, "B"], [1024, "kB"], [1024, "MB"], [1024, "GB"], [1024, "TB"], [1024, "PB"]]; // of the one before
const TIME = [[1, "ns"], [1000, "us"], [1000, "ms"], [1000, "s"], [60, "min"], [60, "h"]];
const UNITS = {
    bytes: [BYTES, 1], byte: [BYTES, 1], kilobytes: [BYTES, 1024], megabytes: [BYTES, 1048576],
    nanoseconds: [TIME, 1], microseconds: [TIME, 1e3], milliseconds: [TIME, 1e6], seconds: [TIME, 1e9],
};

export function formatValue(value, unit) {
    const known = Object.hasOwn(UNITS, unit) && UNITS[unit];
    const text = known ? scaled(Math.abs(value) * known[1], known[0]) : whole(Math.abs(value), unit);
    return value < 0 ? `−${text}` : text;
}

// The same with its sign, where it is a change.
export function formatChange(value, unit) {
    return (value > 0 ? "+" : "") + formatValue(value, unit);
}

export function formatShare(part, whole) {
    return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)}%`.replace("-", "−");
}

// In the largest unit that it has one of, with three digits.
function scaled(value, scale) {
    let step = 0;
    for (; step + 1 < scale.length && value >= scale[step + 1][0]; step++) value /= scale[step + 1][0];
    const places = value >= 99.95 || Number.isInteger(value) ? 0 : value >= 9.995 ? 1 : 2;
    return `${value.toFixed(places)} ${scale[step][1]}`;
}

function whole(value, unit) {
    const digits = Math.round(value).toLocaleString("en");
    return unit === "" || unit === "count" ? digits : `${digits} ${unit}`;
}
