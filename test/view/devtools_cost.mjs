// devtools_cost.mjs - what it takes Chromium's DevTools to load a heapsnapshot and to show a class with what it retains.
//
//     devtools_cost.mjs FILE CLASS        prints seconds of CPU time of all processes of the browser, and the most kilobytes of one
//
// The panel is there before; what is seen of it is asked once a second.

import * as devtools from "./devtools.mjs";

const [path, shown] = process.argv.slice(2);

await devtools.start();
const panel = await devtools.panel({ every: 1000 });
const before = await devtools.processes();
await devtools.load(panel, path, shown);
const after = await devtools.processes();
await devtools.stop();
const seconds = Object.entries(after).reduce((sum, [pid, [cpu]]) => sum + cpu - (before[pid]?.[0] ?? 0), 0);
console.log(seconds.toFixed(2), Math.round(Math.max(...Object.values(after).map(([, bytes]) => bytes)) / 1000));
