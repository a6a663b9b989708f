// data.js - what heapprof has put into the page (README.md).

import { byId } from "./dom.js";

export const json = JSON.parse(byId("data").textContent);
