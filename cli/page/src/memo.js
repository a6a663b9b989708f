// memo.js - a step of the computation whose last result is kept as long as all that it was made of is the same.

export function remembered(compute) {
    let last, result;
    return (...from) => {
        if (!last || from.some((one, i) => one !== last[i])) {
            result = compute(...from);
            last = from;
        }
        return result;
    };
}
