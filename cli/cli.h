#ifndef HEAPPROF_CLI_H
#define HEAPPROF_CLI_H
/* What every command is made of, and what it may use.
 *
 * A command is a file with a struct cli_command, and a row in commands.h. Its tables say everything about
 * the command. The parser reads them, and help, the man page and the shells' completions are printed from
 * them. So nothing is said twice.
 *
 * Exit statuses: CLI_DONE; CLI_WRONG if a file or its content is wrong; CLI_USAGE if the command line is
 * wrong. For the last two, a line on stderr says what is wrong, or what is accepted. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pprof/model.h"
#include "report/export.h"

enum cli_status {CLI_DONE = 0, CLI_WRONG = 1, CLI_USAGE = 2};

struct cli_option {
    const char *name;    /* "--by" */
    char        letter;  /* 'n' of "-n"; 0: none */
    const char *value;   /* what it is, "TYPE"; NULL: it has none */
    const char *choices; /* "site class label:KEY", "..." for others, too; "FILE"; NULL: any text */
    const char *help;    /* one sentence, without a full stop */
};

struct cli_example {
    const char *command, *what;
};

struct cli;

struct cli_command {
    const char *name, *arguments;        /* "top", "[options] FILE" */
    const char *summary;                 /* a line for the list of commands */
    const char *description;             /* paragraphs, "\n\n" between */
    const char *readers;                 /* who can read what it writes or serves; NULL: it only shows */
    const struct cli_option *options;    /* up to one without a name; NULL: none */
    const struct cli_example *examples;  /* the same */
    size_t least, most;                  /* operands */
    bool   passes_rest;                  /* options end at the first operand: the rest is somebody's command */
    int  (*run)(struct cli *cli);        /* a status */
};

#define CLI_OPTIONS_MOST 24

/* The command line of one call. */
struct cli {
    const struct cli_command *command;
    const char *values[CLI_OPTIONS_MOST]; /* by option: its value, "" of one without; NULL: not given */
    char      **operands;
    size_t      operand_count;
    size_t      before_dashes;            /* how many of them stand before "--" */
};

/* All commands, in the order of help; ends with NULL. main sets it. */
extern const struct cli_command *const *cli_commands;

/* The command of that name; NULL if there is none. */
const struct cli_command *cli_find(const char *name);

/* The command whose name these words begin with; *used: how many of the words are its name. NULL if there is none. */
const struct cli_command *cli_find_words(char *const *words, size_t count, size_t *used);

/* A family has names of two words, as "graph top". Writes the second word of each command whose first is that word, after a
 * space. Returns how many there are. */
size_t cli_family(FILE *out, const char *word);

/* The version of the ruby that heapprof comes with, as "3.4.5". */
extern const char cli_ruby_version[];

/* Options that every command has. */
extern const struct cli_option cli_common_options[];

/* Reads the command line behind the command's name. */
bool cli_parse(struct cli *cli, int argc, char **argv);

/* ---- saying what is wrong: "heapprof top: FILE: no such file" ---- */

int cli_wrong(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An option's value as a whole number of least or more; without it the default. False: usage was told. */
bool cli_number(const struct cli *cli, int option, long least, long default_number, long *number);

/* ---- files ---- */

/* A file that is being read, which shows how far on a terminal when it takes long. */
struct cli_input {
    const char *name;
    int      fd;
    int64_t  size;       /* bytes of the file; 0: not known */
    int64_t  done;
    int64_t  next_ns;    /* when progress is shown next; 0: never */
    bool     shown;
};

/* "-": stdin. False: it was told what is wrong. */
bool cli_open(const struct cli *cli, struct cli_input *input, const char *path);
void cli_close(struct cli_input *input);

/* Up to size bytes more of the input that data is; as read(2). */
ptrdiff_t cli_more(void *data, void *buffer, size_t size);

/* What is being done with it now: shown on a terminal when a second has passed since the first file was opened. NULL: it is
 * done, and no line is left; to be said before anything else is written. */
void cli_doing(const char *what);

/* The profile in that file, "-": stdin. NULL: it was told what is wrong. */
struct heapprof_model *cli_read(const struct cli *cli, const char *path);

/* Those in all operands, and what messages call them. An operand that is not there is told and taken out of the operands, if
 * enough are left: a process that runs removes files of its series (profiler/series.h) after a shell has listed them. Returns
 * how many were read; less than operand_count: it was told what is wrong. */
size_t cli_read_operands(struct cli *cli, struct heapprof_model **models, const char **names);

/* Which value of the profile has that name; NULL: the one to show first. False: it was told which there
 * are. */
bool cli_type(const struct cli *cli, const char *path, const struct heapprof_model *model, const char *name,
              uint32_t *type);

/* A profile as a file has it, gzip'd, in a block from malloc; NULL: no memory. */
char *cli_encode(const struct heapprof_model *model, size_t *size);

/* Writes a profile to that file, which appears when it is complete; "-" or NULL: to stdout, unless that is a
 * terminal. A status. */
int cli_save(const struct cli *cli, const struct heapprof_model *model, const char *path);

/* The same of the profile's default type in another format, to stdout also where that is a terminal. */
int cli_export(const struct cli *cli, report_export_i *export, const struct heapprof_model *model, const char *path);

/* What a message calls it. */
const char *cli_name(const char *path);

/* ---- the terminal ---- */

/* Columns of the terminal that stdout is; 0: it is none, and lines are as long as they are. */
unsigned cli_width(void);
bool cli_colour(void);

/* From here on a pager shows what goes to stdout, if that is a terminal. */
void cli_page(void);

/* Ends the output: whether all of it was written. To be returned by whoever has written. */
int cli_finish(const struct cli *cli);

/* ---- help.c ---- */

void cli_help(FILE *out, const struct cli_command *command); /* NULL: of all */

#endif
