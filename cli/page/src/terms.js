// terms.js - the words of the page of `heapprof graph view`, explained where they stand and in one list.

import { element } from "./dom.js";

// [words, what they mean, where they stand in a text]. Where two begin at the same letter, the first one counts.
const TERMS = [
    ["retains, keeps, retained", "What would be freed if this object went away: its own bytes, and those of all objects that only it keeps alive.", /\bretain(?:s|ed)\b|\bkeeps?\b/],
    ["is kept by, dominator", "The nearest object that all ways from the roots lead through. If it goes away, this one is freed. The picture puts each object into the one that it is kept by.", /\bis kept by\b|\b[Dd]ominator\b/],
    ["root", "What the VM itself refers to: constants and global variables, threads with their local variables, what C code has registered. What no root leads to is garbage.", /\(a root\)|\(roots\)/],
    ["(several ways)", "More than one way leads there, and no single one keeps it alive. It stands at the last object that all these ways have in common.", /\(several ways\)|\bseveral holders\b/],
    ["list of", "Objects of which each refers to the next one, such as a linked list. All together are one step.", /\blist of\b/],
    ["gathered in", "From here on the memory is spread over many objects. Up to here it is in one.", /\bgathered in\b/],
    ["name_* (2,000)", "Names that begin alike, and lead to objects of one class: here 2,000 of them, counted as one.", /\* ?\]? ?\(\d[\d,]*\)/],
    ["[], [7], (key), (value)", "An element of an Array, or a key or a value of a Hash. [] stands for any of them.", /\[\d*\]|\(key\)|\(value\)/],
    ["shared", "Memory of an Array or a String that several of them use together.", /\bshared\b/],
    ["weak", "A weak reference keeps nothing alive: that of a WeakRef, of an ObjectSpace::WeakMap, or of the VM's own caches.", /\bweak\b/],
    ["machine stack", "A word on the stack of a thread's C code. The collector keeps whatever it may point to, even if it is a leftover.", /\bmachine stack\b/],
    ["C global", "A variable of C code, of the VM or of a gem's extension.", /\bC global\b/],
    ["local", "A local variable of a method at work, or of a block or method that a Proc or a Binding remembers.", /\blocal\b/],
    ["compiled code, T_IMEMO(iseq)", "Compiled code of a method, a block or a file.", /T_IMEMO\(iseq\)|\bcompiled code\b/],
    ["local variables of a block, T_IMEMO(env)", "The local variables of a method or a block, kept because a Proc or a Binding may still use them.", /T_IMEMO\(env\)|\blocal variables of (?:a block|blocks)\b/],
    ["method entry, T_IMEMO(ment)", "A method's entry in its class.", /T_IMEMO\(ment\)|\bmethod entr(?:y|ies)\b/],
    ["call cache, constant cache, call description, T_IMEMO(…cache)", "Notes of the VM about calls and constants that it has seen, to be faster the next time.", /T_IMEMO\((?:call|const)\w*\)|\b(?:call|constant) caches?\b|\bcall descriptions?\b/],
    ["T_IMEMO, note of the VM", "An object that the VM makes for itself. The name in parentheses is the VM's.", /T_IMEMO\(\w+\)|\bnotes? of the VM\b/],
    ["internal Array, internal object", "An object without a class: no Ruby code can reach it, only the VM and C code.", /\binternal (?:[aA]rrays?|[hH]ash(?:es)?|[sS]trings?|[sS]tructs?|objects?|class(?:es)?|modules?)\b/],
    ["T_…", "MRI's name of the kind of object: T_OBJECT is one with instance variables, T_DATA one of C code.", /\bT_[A-Z]+\b/],
    ["survived N GCs, old", "How many collections of garbage the object has lived through. After three it is old.", /\bsurvived \d+ GCs?\b|\bold\b/],
    ["growth", "How many bytes more are alive than in the first dump: what is new, less what was freed, and what became larger in place.", /\bgrowth\b/],
    ["in place", "An object that was there before became larger, such as a String that is appended to, or an Array with more elements.", /\bin place\b/],
    ["the rest", "Changes that are too small for a row, or too many for this page. With them the rows add up to the growth.", /\bthe rest\b/],
];
const ANY = new RegExp(TERMS.map(([, , at]) => `(${at.source})`).join("|"), "g");

// What a text means, for a tooltip; undefined: it has no such words.
export function meaning(text) {
    const found = new Set([...text.matchAll(ANY)].map(termOf));
    return found.size > 0 ? [...found].map(([words, means]) => `${words}: ${means}`).join("\n") : undefined;
}

// The text in pieces for an element, where each such word has its meaning as a tooltip.
export function explained(text) {
    const pieces = [];
    let end = 0;
    for (const match of text.matchAll(ANY)) {
        pieces.push(text.slice(end, match.index), element("dfn", { title: termOf(match)[1] }, match[0]));
        end = match.index + match[0].length;
    }
    return [...pieces, text.slice(end)];
}

// All of them.
export function termList() {
    return TERMS.flatMap(([words, means]) => [element("dt", {}, words), element("dd", {}, means)]);
}

function termOf(match) {
    return TERMS[match.slice(1).findIndex((group) => group !== undefined)];
}
