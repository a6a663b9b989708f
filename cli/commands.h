/* The commands, in the order that help shows them. Each has a row; its struct cli_command is in
 * the file of that name. A group is a title above the command that it names, and above those that
 * follow. */
#define CLI_COMMANDS(X, GROUP) \
    GROUP("Heap profiles", run) \
    X(run) \
    X(top) \
    X(diff) \
    X(view) \
    X(merge) \
    X(convert) \
    X(info) \
    X(postmortem) \
    GROUP("The object graph: who keeps what alive", graph_dump) \
    X(graph_dump) \
    X(graph_info) \
    X(graph_report) \
    X(graph_top) \
    X(graph_why) \
    X(graph_tree) \
    X(graph_show) \
    X(graph_query) \
    X(graph_diff) \
    X(graph_dups) \
    X(graph_pages) \
    X(graph_stuck) \
    X(graph_view) \
    X(graph_convert) \
    GROUP("A running process, from outside", ps) \
    X(ps) \
    X(stacks) \
    X(record) \
    X(watch) \
    X(snapshot) \
    X(start) \
    X(stop) \
    X(leak) \
    X(serve) \
    GROUP("C extensions", memcheck) \
    X(memcheck) \
    X(barriers) \
    GROUP("About heapprof", version) \
    X(version) \
    X(help)
