/* The commands, in the order that help shows them: a row for each, whose struct cli_command is in the file
 * of that name. */
#define CLI_COMMANDS(X) \
    X(run) \
    X(top) \
    X(diff) \
    X(view) \
    X(merge) \
    X(convert) \
    X(info) \
    X(stacks) \
    X(record) \
    X(watch) \
    X(snapshot) \
    X(serve) \
    X(help)
