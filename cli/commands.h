/* The commands, in the order that help shows them. Each has a row; its struct cli_command is in
 * the file of that name. */
#define CLI_COMMANDS(X) \
    X(run) \
    X(top) \
    X(diff) \
    X(view) \
    X(merge) \
    X(convert) \
    X(info) \
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
    X(graph_view) \
    X(graph_convert) \
    X(memcheck) \
    X(stacks) \
    X(record) \
    X(watch) \
    X(snapshot) \
    X(serve) \
    X(barriers) \
    X(version) \
    X(help)
