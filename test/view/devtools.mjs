// devtools.mjs - a heapsnapshot in the Memory panel of Chromium's DevTools.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

let browser;

export async function start() {
    const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
    browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: [...sandbox, "--remote-allow-origins=*"] });
}

export async function stop() {
    await browser.close();
}

// All elements that match, also those in shadow trees.
const all = (page, selector) => page.evaluateHandle((wanted) => {
    const found = [];
    const look = (root) => {
        found.push(...root.querySelectorAll(wanted));
        for (const element of root.querySelectorAll("*")) if (element.shadowRoot) look(element.shadowRoot);
    };
    look(document);
    return found;
}, selector);

// With stacks: as when "Allocation stack traces" was ticked. first(selector, text) waits for an element, and looks again each so
// many milliseconds.
export async function panel({ stacks = false, every = 100 } = {}) {
    const address = new URL(browser.wsEndpoint()).host;
    const [target] = await (await fetch(`http://${address}/json`)).json();
    const page = await browser.newPage();
    const wrong = [];
    page.on("pageerror", (error) => wrong.push(String(error)));
    await page.setViewport({ width: 1400, height: 900 });
    await page.goto(`http://${address}/devtools/devtools_app.html?ws=${target.webSocketDebuggerUrl.replace("ws://", "")}&panel=heap-profiler`);
    if (stacks) {
        await page.evaluate(() => { localStorage["record-allocation-stacks"] = "true"; });
        await page.reload();
    }
    const first = async (selector, text) => {
        for (let left = 60_000; left > 0; left -= every) {
            const handle = await page.evaluateHandle((found, wanted) => found.find((element) => element.textContent.includes(wanted)),
                await all(page, selector), text);
            if (handle.asElement()) return handle.asElement();
            await new Promise((resolve) => setTimeout(resolve, every));
        }
        return assert.fail(`no ${selector} ${text}: ${wrong}`);
    };
    return { page, first, file: await first("input[type=file]", ""), wrong };
}

// Until the table of classes, with what they retain, has one that is called `shown`.
export async function load({ page, first, file, wrong }, path, shown) {
    await file.uploadFile(path);
    const entry = await first("div.titles", "B)");
    const total = await entry.evaluate((element) => element.textContent);
    await entry.click();
    await first("tr", shown);
    const rows = await page.evaluate((found) => found.map((row) => [...row.cells].map((cell) => cell.innerText)), await all(page, "tr"));
    return { page, first, total, rows, wrong };
}

export async function open(path, { stacks = false, shown = "Order" } = {}) {
    return load(await panel({ stacks }), path, shown);
}

// Of the browser's processes: { pid: [seconds of CPU time, most memory in bytes] }.
export async function processes() {
    const session = await browser.target().createCDPSession();
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    await session.detach();
    return Object.fromEntries(processInfo.map(({ id, cpuTime }) =>
        [id, [cpuTime, Number(readFileSync(`/proc/${id}/status`, "utf8").match(/VmHWM:\s+(\d+)/)[1]) * 1024]]));
}
