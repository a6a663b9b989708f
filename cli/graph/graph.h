#ifndef HEAPPROF_CLI_GRAPH_H
#define HEAPPROF_CLI_GRAPH_H
/* What the commands of `heapprof graph` share: options, the dump in memory, names on the
 * terminal. */
#include "cli/cli.h"
#include "graph/entries.h"
#include "graph/groups.h"
#include "graph/stuck.h"
#include "graph/suspects.h"
#include "graph/words.h"
#include "report/json.h"

/* Options of a command that reads a dump. */
#define CLI_GRAPH_OPTIONS \
    {CLI_JSON, NULL, "The same as JSON"}, CLI_OUTPUT_OPTION, CLI_GRAPH_MEMORY_OPTION
#define CLI_GRAPH_MEMORY_OPTION \
    {CLI_MEMORY, NULL, \
     "Most memory for the graph, such as 512M or 4G; the rest goes to a file (default: no limit)"}

/* The same for a command that says what keeps what. */
#define CLI_GRAPH_KEEPER_OPTIONS CLI_GRAPH_OPTIONS, CLI_GRAPH_EXACT_OPTION
#define CLI_GRAPH_EXACT_OPTION \
    {CLI_EXACT, NULL, \
     "Also count what only caches and words of a stack keep alive, as in the running process"}

/* The contents of a dump, as far as a command needs them. */
struct cli_graph {
    struct graph graph;
    struct graph_dominators dominators;
    struct graph_tree shortest; /* only if the command asked for it, as is dominator_tree */
    struct graph_tree dominator_tree;
    struct graph_entries entries; /* if it asked for both */
    char   incomplete[HEAPPROF_DUMP_ERROR_MAX]; /* why the dump is incomplete; "" if it is
                                                   complete */
};

/* The trees that a command may ask for, and what else. EXACTLY: dominators look through nothing.
 * LENGTHS and HASHES: see graph_load_wanted. KEYS: String keys are in paths. */
enum {
    CLI_GRAPH_SHORTEST = 1,
    CLI_GRAPH_DOMINATOR_TREE = 2,
    CLI_GRAPH_EXACTLY = 4,
    CLI_GRAPH_LENGTHS = 8,
    CLI_GRAPH_HASHES = 16,
    CLI_GRAPH_KEYS = 32
};

/* An option of a command that shows paths, and CLI_GRAPH_KEYS if it is given. */
#define CLI_GRAPH_KEYS_OPTION \
    {CLI_KEYS, NULL, "Show the String keys of Hashes in paths, if the dump was made with values"}

static inline int
cli_graph_keys(const struct cli *cli)
{
    return cli->values[CLI_KEYS] ? CLI_GRAPH_KEYS : 0;
}

/* CLI_GRAPH_EXACTLY if the option --exact is given, otherwise 0. */
static inline int
cli_graph_exactly(const struct cli *cli)
{
    return cli->values[CLI_EXACT] ? CLI_GRAPH_EXACTLY : 0;
}

/* Reads the dump, and finds its dominators and the given trees. Returns a status; unless it is
 * CLI_DONE, the error has been printed. The caller frees graph either way. */
int cli_graph_read(const struct cli *cli, const char *path, struct cli_graph *graph, int trees);
void cli_graph_free(struct cli_graph *graph);

/* The two halves of cli_graph_read: loading the graph with what is wanted (LENGTHS, HASHES,
 * KEYS), and finding dominators and trees. */
int cli_graph_load(const struct cli *cli, const char *path, struct cli_graph *graph, int wanted);
int cli_graph_find(const struct cli *cli, const char *path, struct cli_graph *graph, int trees);

/* Sets bytes from --memory; without the option there is no limit. Returns false after printing
 * a usage error. */
bool cli_graph_limit(const struct cli *cli, size_t *bytes);

/* Prints a warning on stderr if the dump is incomplete. Each command with text output calls
 * this. */
void cli_graph_warn(const struct cli *cli, const char *path, const struct cli_graph *graph);

/* ---- text that is built in pieces and then shown ---- */

struct cli_text {
    FILE  *out;
    char  *bytes;
    size_t size;
};

/* Returns false if there is no memory. One of the two functions below ends each text that was
 * begun. */
bool cli_text_begin(struct cli_text *text);

/* Writes the text to stdout as report_put does. Returns the columns. */
unsigned cli_text_show(struct cli_text *text, unsigned width, bool tail);
void cli_text_json(struct cli_text *text, struct report_json *json);

/* Writes what an object is to stdout. Returns false if there is no memory. */
bool cli_graph_put_object(const struct graph *graph, uint32_t object, unsigned width);

/* Writes the bits of an object in words: "old, frozen". */
void cli_graph_put_flags(FILE *out, uint32_t bits);

/* Finds a stack's innermost frame of the application. A stack without one has its innermost frame
 * with a file instead. */
uint32_t cli_graph_own_site(const struct graph_names *names, uint32_t stack);

/* A label that a sampled object has. */
struct cli_graph_label {
    const char *key, *value;
    size_t key_length, value_length;
};

/* Reads the next label of a string of labels (HEAPPROF_DUMP_DOING). Returns false at its end. */
bool cli_graph_next_label(const char **at, struct cli_graph_label *label);

/* Writes "cart.rb:12 Cart#load": put_frame for the stack's own frame, put_site for the innermost
 * frame that has a file. If that is of a library, the application's comes first: "app/cart.rb:12
 * Cart#load, in rack-3.1.2/lib/rack.rb:8 Rack.parse". json_stack writes all frames as a JSON
 * array, innermost first. */
void cli_graph_put_site(FILE *out, const struct graph_names *names, uint32_t stack);
void cli_graph_put_frame(FILE *out, const struct graph_names *names, uint32_t stack);
void cli_graph_json_stack(struct report_json *json, const struct graph *graph, uint32_t stack);

/* Writes what the dump says about the process, or about itself (footer), as a member of that
 * name: an array of [key, value]. */
void cli_graph_json_facts(struct report_json *json, const struct graph_names *names,
                          const char *key, bool footer);

/* Writes an address as a member of that name. */
void cli_graph_json_address(struct report_json *json, const char *key, uint64_t address);

/* Writes the members that describe an object: "address", "name", "bytes", "retained". */
bool cli_graph_json_object(struct report_json *json, const struct cli_graph *graph,
                           uint32_t object);

/* Writes the path to an object as a member of that name. */
bool cli_graph_json_way(struct report_json *json, const char *key, const struct graph *graph,
                        const struct graph_tree *tree, uint32_t object, bool merged);

/* Writes the strongest path to an object, or to several; of one also whether there are others. The
 * command has asked for both trees. Returns false if there is no memory. */
bool cli_graph_put_way(FILE *out, const struct cli_graph *graph, uint32_t object, bool several);

/* What may be a leak, largest first. */
#define CLI_GRAPH_SUSPECTS_MOST 5
struct cli_graph_suspects {
    struct graph_patterns patterns; /* of the dominator tree */
    struct graph_suspect *all;
    size_t   count;
    uint64_t least;              /* bytes that a suspect keeps at least */
};

/* Finds up to `most` suspects that keep at least `percent` of what is alive; if percent is
 * negative, at least 5% and 1 MB. Returns false if there is no memory; the caller frees suspects
 * either way, before the graph. put_suspect and json_suspect write one of them in words and as a
 * JSON object; they return false if there is no memory. */
bool cli_graph_suspects_find(struct cli_graph_suspects *suspects, struct cli_graph *graph,
                             size_t most, long percent);
void cli_graph_suspects_free(struct cli_graph_suspects *suspects);
bool cli_graph_put_suspect(FILE *out, const struct cli_graph *graph,
                           const struct cli_graph_suspects *suspects, size_t number);
bool cli_graph_json_suspect(struct report_json *json, const struct cli_graph *graph,
                            const struct cli_graph_suspects *suspects, size_t number);

/* "3 threads and 1 fiber are stuck: nobody can wake them. They keep 33.9 MB"; the same as members
 * of a JSON object. */
void cli_graph_put_stuck(FILE *out, const struct graph_stuck *stuck);
void cli_graph_json_stuck(struct report_json *json, const struct graph_stuck *stuck);

/* Writes a table of groups: the head, and a row with bytes, retained and their shares of whole,
 * and objects. */
void cli_graph_put_head(void);
void cli_graph_put_group(const struct graph_group *group, double whole);

/* Writes an amount: "123 kB", "3,000"; "1 thread", "3 threads"; "1 object", "3,000 objects". */
void cli_graph_put_amount(FILE *out, double value, const char *unit);
void cli_graph_put_count(FILE *out, uint64_t count, const char *one, const char *many);
void cli_graph_put_objects(FILE *out, uint64_t count);

/* Writes the last line of a table that leaves rows out: "... and 1,816 more". */
void cli_graph_put_left(uint64_t count);

/* Writes the name of a class in a table to stdout, in as many columns at most (0: all). A type of
 * MRI's is followed by what it is: "T_IMEMO(iseq): compiled code". */
void cli_graph_put_class(const char *name, unsigned width);

/* Write "123 kB", or "1.2%", right aligned, to stdout. */
void cli_graph_put_bytes(double bytes);
void cli_graph_put_share(double part, double whole);

/* The time at which the dump was taken, "2026-11-22 22:10:03 +0000"; "" if the dump does not
 * say. */
#define CLI_GRAPH_TIME_MAX 40
void cli_graph_time(char text[CLI_GRAPH_TIME_MAX], const struct graph *graph);

/* The object at the address in word, such as 0x7f0012345678; 0 if word is no address or nothing
 * is there. */
uint32_t cli_graph_object(const struct graph *graph, const char *word);

#endif
