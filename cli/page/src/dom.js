// dom.js - elements from names, attributes and texts. What a profile says becomes text, never markup.

export function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children);
    return made;
}

export function byId(id) {
    return document.getElementById(id);
}

// A text that may go on in the next line after "::" and "/".
export function breakable(text) {
    return text.split(/(?<=::|\/)/).flatMap((part, i) => (i > 0 ? [document.createElement("wbr"), part] : [part]));
}

// Calls action when nothing has happened for some milliseconds. Its now() does not wait, and returns whether anything was to be done.
export function debounced(milliseconds, action) {
    let timer;
    const later = () => {
        clearTimeout(timer);
        timer = setTimeout(later.now, milliseconds);
    };
    later.now = () => {
        const due = timer !== undefined;
        clearTimeout(timer);
        timer = undefined;
        if (due) action();
        return due;
    };
    return later;
}

// Puts a text on the clipboard. Browsers that do not let a page of a file do so have the older way.
export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = element("textarea", { class: "offscreen" });
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}

// Hands a text over as a file.
export function download(name, text) {
    const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    link.click();
    URL.revokeObjectURL(link.href);
}
