// memlab.cjs - what memlab's find-leaks finds in three heapsnapshots.
//
//     node memlab.cjs CLASS BASELINE TARGET FINAL      (in a directory with node_modules)
//
// Prints JSON: ids of the objects of that class that came with the second and are there in the third, and the ways that lead to them.
// memlab looks for elements of web pages, unless it is told what else is a leak; and leaves out references as V8 has them.

const { ConsoleMode, findLeaksBySnapshotFilePaths } = require("@memlab/api");
const { config } = require("@memlab/core");

const [name, ...snapshots] = process.argv.slice(2);
const ids = [];

config.externalLeakFilter = {
    leakFilter(node) {
        if (node.name === name) ids.push(node.id);
        return node.name === name;
    },
    retainerReferenceFilter: () => true,
};

findLeaksBySnapshotFilePaths(...snapshots, { workDir: `${process.cwd()}/memlab`, consoleMode: ConsoleMode.SILENT }).then((leaks) => {
    const ways = leaks.map((leak) => Object.keys(leak).filter((key) => /^\d+: /.test(key)));
    console.log(JSON.stringify({ ids, ways }));
});
