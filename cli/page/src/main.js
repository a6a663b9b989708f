// main.js - which page it is: that of a profile, or of a dump of the object graph.

import "./style.css";
import { json } from "./data.js";

const page = json.kind === "graph" ? import("./graph_page.js") : import("./profile_page.js");

page.then(() => {
    performance.mark("heapprof-ready");
    document.documentElement.dataset.ready = "true";
});
