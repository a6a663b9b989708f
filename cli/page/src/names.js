// names.js - what people call the kinds of value, labels and groups of a profile. The names in the file are shown as tooltips.

const TYPES = {
    inuse_space: "Memory alive",
    inuse_slot_space: "– of it slots",
    inuse_malloc_space: "– of it malloc",
    inuse_objects: "Objects alive",
    alloc_space: "Memory allocated so far",
    alloc_slot_space: "– of it slots",
    alloc_malloc_space: "– of it malloc",
    alloc_objects: "Objects allocated so far",
    temp_space: "Memory that died before its first collection",
    temp_objects: "Objects that died before their first collection",
    peak_space: "Memory alive at the peak",
    peak_objects: "Objects alive at the peak",
    rss_space: "In memory (RSS)",
};

const GROUPS = {
    "app line": "Line of the application",
    function: "Function",
    file: "File",
    gem: "Gem",
    class: "Class",
    gc_age: "Age (collections survived)",
    death_age: "Age at death (collections survived)",
    memsize: "Size of the object",
    caller: "C function that allocated",
    owner: "Owner",
    endpoint: "Endpoint",
};

const known = (names, name) => (Object.hasOwn(names, name) ? names[name] : name);

export const typeName = (name) => known(TYPES, name);
export const groupName = (name) => known(GROUPS, name);

// The order of the menu of types: what is alive first. Others come last, as they are in the file.
export function typeOrder(names) {
    const order = Object.keys(TYPES);
    const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
    return names.map((_, i) => i).sort((a, b) => place(names[a]) - place(names[b]) || a - b);
}

// In a bar or a tooltip it stands alone: "Memory alive, of it malloc".
export function fullTypeName(name) {
    const part = typeName(name);
    if (!part.startsWith("–")) return part;
    return `${typeName(name.replace(/_(slot|malloc)_/, "_"))}, ${part.replace("– ", "")}`;
}
