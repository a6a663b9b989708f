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
