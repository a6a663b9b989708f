// rooted.js - a profile whose stacks begin with a label's value: which endpoint calls what.
//
//     main > Puma > Cart#add          endpoint "/cart"            /cart > main > Puma > Cart#add
//     main > Puma > Cart#add          endpoint "/pay"             /pay > main > Puma > Cart#add
//     main > Puma                                                 (no endpoint) > main > Puma
//
// The values become functions, behind those of the file: from firstRoot on. A row's node is copied once for each value.

const OF_HEAPPROF = new Set(["address", "caller", "class", "container", "death_age", "gc_age", "leak", "library", "memsize",
    "native_leak", "owner", "owner_allocated_by", "pid", "title", "waits"]);

// The keys of labels that say what the program was doing.
export function rootKeys(json) {
    return [...new Set(json.labels.key)].map((key) => json.strings[key]).filter((name) => !OF_HEAPPROF.has(name)).sort();
}

// name: of the key; the JSON as it is where no label has it.
export function rootedBy(json, name) {
    const firstRoot = json.functions.name.length;
    if (!rootKeys(json).includes(name)) return { ...json, firstRoot };
    const made = {
        ...json,
        firstRoot,
        strings: [...json.strings],
        files: copied(json.files),
        functions: copied(json.functions),
        nodes: { parent: [], function: [], line: [] },
    };
    const file = made.files.name.length;
    const shown = made.strings.push(`(${name})`) - 1;
    for (const [column, value] of Object.entries({ name: shown, gem: shown, own: 0, short: shown })) made.files[column].push(value);
    const valueOf = json.sets.map((set) => set.find((label) => json.strings[json.labels.key[label]] === name));
    const roots = new Map();  // a value's text leads to its node
    const copies = new Map(); // a root and a node lead to the node's copy
    const node = json.rows.node.map((at, row) => below(rootOf(valueOf[json.rows.set[row]]), at));
    return { ...made, rows: { ...json.rows, node } };

    function rootOf(label) {
        const text = label === undefined ? `(no ${name})` : textOf(json, label);
        if (!roots.has(text)) roots.set(text, addNode(-1, addFunction(text), 0));
        return roots.get(text);
    }

    function below(root, at) {
        const path = [];
        let place = root;
        for (; at >= 0; at = json.nodes.parent[at]) {
            place = copies.get(keyOf(root, at));
            if (place !== undefined) break;
            path.push(at);
            place = root;
        }
        for (const one of path.reverse()) {
            place = addNode(place, json.nodes.function[one], json.nodes.line[one]);
            copies.set(keyOf(root, one), place);
        }
        return place;
    }

    function keyOf(root, at) {
        return root * json.nodes.parent.length + at;
    }

    function addFunction(text) {
        const { functions, strings } = made;
        functions.file.push(file);
        functions.line.push(0);
        return functions.name.push(strings.push(text) - 1) - 1;
    }

    function addNode(parent, f, line) {
        made.nodes.function.push(f);
        made.nodes.line.push(line);
        return made.nodes.parent.push(parent) - 1;
    }
}

function copied(columns) {
    return Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, [...values]]));
}

function textOf({ labels, strings }, label) {
    return strings[labels.text[label]] || `${labels.number[label]} ${strings[labels.unit[label]]}`.trim();
}
