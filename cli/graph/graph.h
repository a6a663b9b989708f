#ifndef HEAPPROF_CLI_GRAPH_H
#define HEAPPROF_CLI_GRAPH_H
/* What the commands of `heapprof graph` have in common: options, the dump in memory, names on the terminal. */
#include "cli/cli.h"
#include "graph/groups.h"
#include "graph/suspects.h"
#include "graph/words.h"
#include "report/json.h"

/* For the beginning of a command's own options, and their places. Where there is no JSON, another option stands first. */
#define CLI_GRAPH_OPTIONS {"--json", 0, NULL, NULL, "The same as JSON"}, CLI_GRAPH_MEMORY_OPTION
#define CLI_GRAPH_MEMORY_OPTION \
    {"--memory", 0, "SIZE", NULL, "Most memory for the graph, as 512M or 4G; what is more goes to a file (default: no limit)"}

enum {CLI_GRAPH_JSON = 1, CLI_GRAPH_MEMORY, CLI_GRAPH_OWN_OPTIONS};

/* What a dump says, as far as a command asks for it. */
struct cli_graph {
    struct graph graph;
    struct graph_dominators dominators;
    struct graph_tree shortest; /* if it has been asked for, as dominator_tree */
    struct graph_tree dominator_tree;
    char   incomplete[HEAPPROF_DUMP_ERROR_MAX]; /* why; "": it is not */
};

/* Which trees a command wants. */
enum {CLI_GRAPH_SHORTEST = 1, CLI_GRAPH_DOMINATOR_TREE = 2};

/* Reads the dump, and finds its dominators and those trees. A status; anything but CLI_DONE was told. Free it either way. */
int cli_graph_read(const struct cli *cli, const char *path, struct cli_graph *graph, int trees);
void cli_graph_free(struct cli_graph *graph);

/* Its two halves: the graph alone, and what is found in it. */
int cli_graph_load(const struct cli *cli, const char *path, struct cli_graph *graph);
int cli_graph_find(const struct cli *cli, const char *path, struct cli_graph *graph, int trees);

/* --memory in bytes; without it no limit. False: usage was told. */
bool cli_graph_limit(const struct cli *cli, size_t *bytes);

/* Says on stderr that the dump is incomplete, if it is; each command that shows it as text does. */
void cli_graph_warn(const struct cli *cli, const char *path, const struct cli_graph *graph);

/* ---- text that is put together in pieces, and then shown ---- */

struct cli_text {
    FILE  *out;
    char  *bytes;
    size_t size;
};

/* False: no memory. Each text that was begun is ended by one of the functions below. */
bool cli_text_begin(struct cli_text *text);

/* On stdout, as report_put. Returns the columns. */
unsigned cli_text_show(struct cli_text *text, unsigned width, bool tail);
void cli_text_json(struct cli_text *text, struct report_json *json);

/* What an object is, on stdout. False: no memory. */
bool cli_graph_put_object(const struct graph *graph, uint32_t object, unsigned width);

/* "old, frozen", of an object's bits. */
void cli_graph_put_flags(FILE *out, uint32_t bits);

/* "cart.rb:12 Cart#load" of the frame; of the innermost one that has a file; and all frames, innermost first, as JSON's
 * array. */
void cli_graph_put_site(FILE *out, const struct graph_names *names, uint32_t stack);
void cli_graph_put_frame(FILE *out, const struct graph_names *names, uint32_t stack);
void cli_graph_json_stack(struct report_json *json, const struct graph *graph, uint32_t stack);

/* What the dump says of the process, or of itself, as a member of that name: an array of [key, value]. */
void cli_graph_json_facts(struct report_json *json, const struct graph_names *names, const char *key, bool footer);

/* The members of an object that describes one: "address", "name", "bytes", "retained". */
bool cli_graph_json_object(struct report_json *json, const struct cli_graph *graph, uint32_t object);

/* A way as a member of that name. */
bool cli_graph_json_way(struct report_json *json, const char *key, const struct graph *graph,
                        const struct graph_tree *tree, uint32_t object, bool merged);

/* What may be a leak, the largest first. Returns how many, or SIZE_MAX: no memory. And one in words, or
 * as JSON's object; false: no memory. */
#define CLI_GRAPH_SUSPECTS_MOST 5
size_t cli_graph_suspects(struct graph_suspect suspects[CLI_GRAPH_SUSPECTS_MOST], struct cli_graph *graph);
bool cli_graph_put_suspect(FILE *out, const struct cli_graph *graph, const struct graph_suspect *suspect);
bool cli_graph_json_suspect(struct report_json *json, const struct cli_graph *graph,
                            const struct graph_suspect *suspect);

/* The columns of a table of groups, and its head: bytes and retained with their shares of whole, objects. */
void cli_graph_put_head(void);
void cli_graph_put_group(const struct graph_group *group, double whole);

/* "123 kB", "3,000". */
void cli_graph_put_amount(FILE *out, double value, const char *unit);

/* "123 kB", "1.2%" right aligned on stdout. */
void cli_graph_put_bytes(double bytes);
void cli_graph_put_share(double part, double whole);

/* When the dump was taken, "2026-11-22 22:10:03 +0000"; "": it does not say. */
#define CLI_GRAPH_TIME_MAX 40
void cli_graph_time(char text[CLI_GRAPH_TIME_MAX], const struct graph *graph);

/* The object that a word names by its address, as 0x7f0012345678; 0: none, or no address. */
uint32_t cli_graph_object(const struct graph *graph, const char *word);

#endif
