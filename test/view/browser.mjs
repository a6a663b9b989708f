// browser.mjs - heapprof view, and its page in headless Chromium.
//
// HEAPPROF is the program, CHROMIUM the browser. A page that says anything on its console, breaks its own
// policy, or asks for anything but its file fails the test.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import puppeteer from "puppeteer-core";

import { encode } from "./pprof.mjs";

export const directory = mkdtempSync(join(tmpdir(), "heapprof-view-"));
const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : []; // Chromium has none for root
let browser;
let files = 0;

export async function start() {
    browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: sandbox });
}

export async function stop() {
    await browser.close();
    rmSync(directory, { recursive: true });
}

// Runs heapprof; what it printed. Throws, with status and stderr, when it fails.
export function heapprof(...args) {
    return execFileSync(process.env.HEAPPROF, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, TMPDIR: directory } });
}

export function write(profile) {
    const path = join(directory, `${++files}.pb.gz`);
    writeFileSync(path, encode(profile));
    return path;
}

// The page of a profile, or with old of what changed.
export async function open(profile, { old, options = [], dark = false, width, height } = {}) {
    const html = join(directory, `${++files}.html`);
    heapprof("view", ...(old ? ["--diff", write(old)] : []), write(profile), "-o", html, ...options);
    return openFile(html, { dark, width, height });
}

export async function openFile(html, { dark = false, width = 1400, height = 1000, at = "" } = {}) {
    const page = await browser.newPage();
    const wrong = [];
    page.on("console", (message) => wrong.push(message.text()));
    page.on("pageerror", (error) => wrong.push(String(error)));
    page.on("request", (request) => {
        if (request.url().split("#")[0] !== `file://${html}` && !request.url().startsWith("blob:")) wrong.push(`asked for ${request.url()}`);
    });
    await page.evaluateOnNewDocument(() => {
        window.violations = [];
        document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
    });
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
    await page.goto(`file://${html}${at}`);
    await page.waitForSelector("html[data-ready]");
    page.verify = async () => {
        assert.deepEqual(wrong, []);
        assert.deepEqual(await page.evaluate(() => window.violations), []);
        await page.close();
    };
    return page;
}

// What axe-core finds wrong with roles, labels and contrast: "rule: element".
export async function unlabelled(page) {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`));
}

export const text = (page, selector) => page.$eval(selector, (found) => found.textContent);

// The table's rows as arrays of texts.
export const rows = (page, selector = "#table tbody tr") =>
    page.$$eval(selector, (found) => found.map((row) => [...row.cells].map((cell) => cell.textContent)));

// The frames drawn: [{ name, title, fill, width }].
export const frames = (page) =>
    page.$$eval("#flame g.frame", (found) => found.map((frame) => ({
        name: frame.getAttribute("name"),
        title: frame.querySelector("title").textContent,
        fill: frame.querySelector("rect").getAttribute("fill"),
        width: Number(frame.querySelector("rect").getAttribute("width")),
        faded: frame.classList.contains("fade"),
    })));

// Types into a field, and does not wait as long as the page does for more.
export async function enter(page, field, text) {
    await page.type(field, text);
    await page.$eval(field, (one) => one.dispatchEvent(new Event("change")));
}

export async function frame(page, name) {
    const found = (await frames(page)).filter((one) => one.name === name);
    assert.equal(found.length, 1, `frames named ${name}`);
    return found[0];
}

// Clicks a frame where a person would.
export async function click(page, name) {
    const found = await page.evaluateHandle((wanted) =>
        [...document.querySelectorAll("#flame g.frame")].find((g) => g.getAttribute("name") === wanted), name);
    await found.asElement().click();
}

// By its name in the file, or of a page of a dump the one that is shown.
export const group = (page, name) => pick(page, "#group", name);
export const type = (page, name) => pick(page, "#type", name);

async function pick(page, menu, name) {
    const value = await page.$$eval(`${menu} option`, (options, wanted) =>
        options.find((one) => (one.dataset.name ?? one.textContent) === wanted)?.value, name);
    await page.select(menu, value);
}

// How many pixels of which colour an element has: { "r, g, b": count }.
export async function pixels(page, selector) {
    const png = await (await page.$(selector)).screenshot({ encoding: "base64" });
    const canvas = await browser.newPage();
    const counts = await canvas.evaluate(async (source) => {
        const image = new Image();
        image.src = `data:image/png;base64,${source}`;
        await image.decode();
        const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, 0, image.width, image.height);
        const sums = {};
        for (let i = 0; i < data.length; i += 4) {
            const colour = `rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`;
            sums[colour] = (sums[colour] ?? 0) + 1;
        }
        return sums;
    }, png);
    await canvas.close();
    return counts;
}
