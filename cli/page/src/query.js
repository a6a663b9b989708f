// query.js - the language of `heapprof graph query` (doc/graph-query.md), over the objects that the page has.
//
//     condition  = test | "not" condition | "(" condition ")"
//                | condition "and" condition | condition "or" condition | condition "with" condition
//     test       = CLASS | FACT | FIELD comparison value
//
// "not" binds tightest, then "and" and "with", which mean the same, then "or". "with" and "or" side by side need parentheses.
// Expressions between slashes are those of JavaScript, of which POSIX's are a part except for names such as [:alpha:].

const site = (object) => object.stack.find((frame) => frame.file !== "") ?? object.stack[0];
const fact = (words) => (object) => object.flags.split(", ").includes(words);

// What a field is, and its value; undefined or null: the object has none.
const FIELDS = {
    class: ["text", (object) => object.class],
    type: ["text", (object) => object.type],
    bytes: ["number", (object) => object.bytes],
    retained: ["number", (object) => object.retained],
    length: ["number", (object) => object.length],
    capacity: ["number", (object) => object.capacity],
    fill: ["number", (object) => (hasRoom(object) ? (object.capacity > 0 ? (100 * object.length) / object.capacity : 100) : null)],
    unused: ["number", (object) => object.unused],
    refs: ["number", (object) => object.refs],
    age: ["number", (object) => object.age],
    old: ["fact", fact("old")],
    frozen: ["fact", fact("frozen")],
    shareable: ["fact", fact("shareable")],
    finalizer: ["fact", fact("has a finalizer")],
    text: ["text", (object) => object.text],
    file: ["text", (object) => site(object)?.file],
    line: ["number", (object) => site(object)?.line],
    method: ["text", (object) => site(object)?.method],
};
FIELDS.size = FIELDS.length;

const LONGEST = 2047; // characters
const MOST_PARTS = 200;
const UNITS = "kmgt"; // of 1024 of the one before
const EQUAL = { "=": true, "==": true, "!=": false };
const COMPARE = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };

function hasRoom({ length, capacity }) {
    return Number.isFinite(length) && Number.isFinite(capacity);
}

// A function of an object, which says whether it fulfils the query. Throws an Error that says in words what is wrong.
export function parseQuery(text) {
    if (text.length > LONGEST) throw new Error(`the expression has more than ${LONGEST} characters`);
    const reader = { text, at: 0, parts: 0 };
    if (next(reader) === "") return () => true;
    const query = parseOr(reader);
    if (next(reader) === ")") throw wrong(reader, "this ) closes nothing");
    if (next(reader) !== "") throw wrong(reader, "and, or, with or the end is expected");
    return query;
}

// ---- words ----

function wrong(reader, what, at = reader.at) {
    return new Error(`column ${at + 1}: ${what}`);
}

// Passes over spaces; the next character, "" at the end.
function next(reader) {
    while (/\s/.test(reader.text[reader.at] ?? "")) reader.at++;
    return reader.text[reader.at] ?? "";
}

// Takes what a sticky expression finds here, or nothing.
function take(reader, pattern) {
    pattern.lastIndex = reader.at;
    const match = pattern.exec(reader.text);
    if (match) reader.at += match[0].length;
    return match?.[0];
}

function takeWord(reader, word) {
    next(reader);
    const from = reader.at;
    if (take(reader, /[a-z_]+/y) === word) return true;
    reader.at = from;
    return false;
}

function countPart(reader) {
    if (reader.parts++ >= MOST_PARTS) throw wrong(reader, `the expression has more than ${MOST_PARTS} parts`);
}

// ---- conditions ----

// What is between two parentheses, or all.
function parseOr(reader) {
    const seen = { with: false };
    const parts = [parseAnd(reader, seen)];
    for (let at = reader.at; takeWord(reader, "or"); at = reader.at) {
        countPart(reader);
        if (seen.with) throw sideBySide(reader, at);
        parts.push(parseAnd(reader, seen));
        if (seen.with) throw sideBySide(reader, at);
    }
    return (object) => parts.some((part) => part(object));
}

function sideBySide(reader, at) {
    return wrong(reader, "with and or need parentheses: Hash with (length > 1000 or bytes > 1M)", at);
}

function parseAnd(reader, seen) {
    const parts = [parseOperand(reader)];
    for (;;) {
        if (takeWord(reader, "with")) seen.with = true;
        else if (!takeWord(reader, "and")) return (object) => parts.every((part) => part(object));
        countPart(reader);
        parts.push(parseOperand(reader));
    }
}

function parseOperand(reader) {
    const first = next(reader);
    if (first === "" || first === ")") throw wrong(reader, "a condition is missing, such as length > 1000");
    countPart(reader);
    if (first === "(") return parseInside(reader);
    if (!takeWord(reader, "not")) return parseTest(reader);
    const operand = parseOperand(reader);
    return (object) => !operand(object);
}

function parseInside(reader) {
    const from = reader.at++;
    const query = parseOr(reader);
    if (next(reader) !== ")") throw reader.at < reader.text.length ? wrong(reader, "and, or, with or ) is expected") : wrong(reader, "this ( is not closed", from);
    reader.at++;
    return query;
}

// ---- tests ----

function parseTest(reader) {
    const from = reader.at;
    if (/["'A-Z#]|[^\0-\x7f]/.test(reader.text[from])) {
        const name = takeText(reader);
        return (object) => object.class === name;
    }
    const word = take(reader, /[a-z_]+/y) ?? "";
    if (!Object.hasOwn(FIELDS, word)) {
        throw wrong(reader, `"${word || reader.text[from]}" is no field: write a class, or one of ${Object.keys(FIELDS).join(" ")}`, from);
    }
    const [kind, value] = FIELDS[word];
    if (kind === "fact") return value;
    const fulfils = kind === "number" ? takeNumberTest(reader, word) : takeTextTest(reader, word);
    return (object) => (value(object) ?? "") !== "" && fulfils(value(object));
}

function takeComparison(reader, accepted) {
    next(reader);
    const from = reader.at;
    const sign = take(reader, /=~|==|!=|<=|>=|[=<>]/y);
    if (!accepted.includes(sign)) throw wrong(reader, `after this field comes one of ${accepted.filter((one) => one !== "==").join(" ")}`, from);
    next(reader);
    return sign;
}

function takeNumberTest(reader, field) {
    const sign = takeComparison(reader, [...Object.keys(EQUAL), ...Object.keys(COMPARE)]);
    const from = reader.at;
    const text = takeText(reader);
    const number = readNumber(text, field === "fill");
    if (number === undefined) throw wrong(reader, `${text} is no number: give one such as 1000, 1.5k or 2M`, from);
    return Object.hasOwn(EQUAL, sign) ? (value) => (value === number) === EQUAL[sign] : (value) => COMPARE[sign](value, number);
}

function takeTextTest(reader, field) {
    const sign = takeComparison(reader, [...Object.keys(EQUAL), "=~"]);
    if (sign === "=~") return takeExpression(reader);
    const wanted = takeText(reader);
    const same = field === "file" ? (value) => isFile(value, wanted) : (value) => value === wanted;
    return (value) => same(value) === EQUAL[sign];
}

// "cart.rb" is "/srv/app/cart.rb".
function isFile(path, file) {
    return path.endsWith(file) && (path.length === file.length || file.startsWith("/") || path.at(-file.length - 1) === "/");
}

// A text with or without quotes. Without, it ends at a space, and at a ")" that it does not open: T_DATA(mutex).
function takeText(reader) {
    const from = reader.at;
    const quote = reader.text[from];
    if (quote === '"' || quote === "'") return takeQuoted(reader, quote, "the text").replace(/\\([\\"'])/g, (all, one) => (one === "\\" || one === quote ? one : all));
    for (let open = 0; /\S/.test(reader.text[reader.at] ?? ""); reader.at++) {
        if (reader.text[reader.at] === "(") open++;
        if (reader.text[reader.at] === ")" && open-- === 0) break;
    }
    if (reader.at === from) throw wrong(reader, "a value is missing");
    return reader.text.slice(from, reader.at);
}

// What stands between two quotes, or slashes, as it is.
function takeQuoted(reader, quote, what) {
    const from = reader.at++;
    for (; reader.at < reader.text.length; reader.at++) {
        if (reader.text[reader.at] === "\\") reader.at++;
        else if (reader.text[reader.at] === quote) return reader.text.slice(from + 1, reader.at++);
    }
    throw wrong(reader, `${what} has no end: ${quote} is missing`, from);
}

function takeExpression(reader) {
    const from = reader.at;
    if (reader.text[from] !== "/") throw wrong(reader, "=~ needs an expression between slashes: /^Active/");
    const source = takeQuoted(reader, "/", "the expression");
    let expression;
    try {
        expression = new RegExp(source);
    } catch {
        throw wrong(reader, `/${source}/ is no regular expression`, from);
    }
    return (value) => expression.test(value);
}

// Reads 10, 1_000, 1.5k, 2M, 3GB, 10%. Returns undefined if the word is no number.
function readNumber(text, percent) {
    const match = text.match(/^(\d+(?:_\d+)*(?:\.\d+)?)(?:([kmgt]?)B?|(%))$/i);
    if (!match || text.endsWith("b") || (match[3] && !percent)) return undefined;
    const power = match[2] ? UNITS.indexOf(match[2].toLowerCase()) + 1 : 0;
    return Number(match[1].replaceAll("_", "")) * 1024 ** power;
}
