#ifndef HEAPPROF_CLI_HTML_H
#define HEAPPROF_CLI_HTML_H
/* Writes the page that is linked in (scripts/page), with its data in it, as a file. `view` and
 * `graph view` share it. */
#include "cli/cli.h"

#define CLI_HTML_OUTPUT_OPTION \
    {CLI_OUTPUT, NULL, "Write the page there, \"-\" is stdout; otherwise into a new temporary file"}
#define CLI_HTML_OPEN_OPTION \
    {CLI_OPEN, NULL, \
     "Open it in a browser; a temporary one is opened anyway where there is a desktop"}

/* Returns false after telling the user that this heapprof has no page. */
bool cli_html_there(const struct cli *cli);

/* Writes the data: JSON that may stand in HTML (page/README.md). Returns false if there is no
 * memory. */
typedef bool cli_html_put_i(FILE *out, void *data);

/* Makes the page from the data that put writes, and writes the page to that path. "-" is stdout;
 * NULL is a new temporary file. If open is true, a browser opens it, too. Returns a status. */
int cli_html_show(const struct cli *cli, cli_html_put_i *put, void *data, const char *path,
                  bool open);

/* Returns a path's last part. */
const char *cli_html_name(const char *path);

#endif
