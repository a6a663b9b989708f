#ifndef HEAPPROF_CLI_H
#define HEAPPROF_CLI_H
/* What every command is made of, and what it may use.
 *
 * A command is a file with a struct cli_command, and a row in commands.h. Its tables say
 * everything about the command. The parser reads them. Help, the man page and the shells'
 * completions are printed from them. So nothing is said twice.
 *
 * Exit statuses: CLI_DONE; CLI_WRONG if a file or its content is wrong; CLI_USAGE if the command
 * line is wrong; CLI_OVER if more has grown than --fail-over allows. Unless it is CLI_DONE, a line
 * on stderr says what is wrong, or what is accepted. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/kinds.h"
#include "cli/options.h"
#include "pprof/model.h"
#include "report/export.h"

enum cli_status {CLI_DONE = 0, CLI_WRONG = 1, CLI_USAGE = 2, CLI_OVER = 3};

/* An option of a command. Its name, its letter and what its value is are in options.h. */
struct cli_option {
    enum cli_option_id id;
    const char *choices; /* "site class label:KEY"; "...": any word, too; NULL: any text */
    const char *help;    /* what it does in this command: a sentence without a full stop */
};

struct cli_example {
    const char *command, *what;
};

struct cli;

/* What the operands are: profiles or dumps, processes, or anything else. */
enum cli_operand {CLI_FILES = 0, CLI_PIDS, CLI_OTHER};

struct cli_command {
    const char *name, *arguments;        /* "top", "[options] FILE" */
    const char *summary;                 /* a line for the list of commands */
    const char *description;             /* paragraphs, with "\n\n" between them */
    /* who can read what it writes or serves; NULL if it only shows, or has CLI_OUTPUT_OPTION */
    const char *readers;
    const struct cli_option *options;    /* up to one without an id; NULL if it has none */
    const struct cli_example *examples;  /* likewise */
    size_t least, most;                  /* number of operands */
    enum cli_operand operand;
    bool   writes_output; /* it obeys --output itself; otherwise its stdout goes there */
    int    unwritten;     /* status if its output cannot be written; 0: CLI_WRONG */
    bool   passes_rest;                  /* a command follows: options end at its first word */
    int  (*run)(struct cli *cli);        /* returns a status */
};

/* The command line of one call. */
struct cli {
    const struct cli_command *command;
    const char *values[CLI_OPTION_COUNT]; /* by option: its value, or ""; NULL if not given */
    char      **operands;
    size_t      operand_count;
    size_t      before_dashes;            /* how many of the operands stand before "--" */
};

/* All commands, in the order of help. The list ends with NULL. main sets it. */
extern const struct cli_command *const *cli_commands;

/* The titles in that list. It ends with a title NULL. */
struct cli_group {
    const char *title;
    const struct cli_command *first;
};

extern const struct cli_group *cli_groups;

/* Returns the command of that name, or NULL if no command has it. */
const struct cli_command *cli_find(const char *name);

/* Returns the command whose name these words begin with, or NULL if no command has. *used is how
 * many of the words are its name. */
const struct cli_command *cli_find_words(char *const *words, size_t count, size_t *used);

/* The commands of a family have the same first word, as "graph top". Writes the second
 * word of each command whose first word is that word, after a space. Returns how many there are. */
size_t cli_family(FILE *out, const char *word);

/* The version of the ruby that heapprof comes with, as "3.4.9". */
extern const char cli_ruby_version[];

/* Says which command was meant by words that name none. */
void cli_refuse_words(char *const *words, size_t count);

/* Options that every command has. */
extern const struct cli_option cli_common_options[];

/* Returns the command's option at that place: its own options first, then those that every
 * command has. Returns NULL after the last one. */
const struct cli_option *cli_option_at(const struct cli_command *command, size_t place);

/* Whether it is one of the command's own options. */
bool cli_has_option_p(const struct cli_command *command, enum cli_option_id id);

/* Reads the words that follow the command's name. */
bool cli_parse(struct cli *cli, int argc, char **argv);

/* ---- saying what is wrong: "heapprof top: FILE: no such file" ---- */

int cli_wrong(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets *number to the option's value, a whole number from least to a thousand millions; or to
 * default_number if the option is not given. Returns false after telling the user what is wrong. */
bool cli_number(const struct cli *cli, enum cli_option_id option, long least, long default_number,
                long *number);

/* Sets *bytes to the option's value, a size such as 5MB, 512k or 4G of units of 2^10; or to
 * default_bytes if the option is not given. Returns false after telling the user what is wrong. */
bool cli_size(const struct cli *cli, enum cli_option_id option, size_t default_bytes,
              size_t *bytes);

/* ---- files ---- */

/* A file that is being read. On a terminal it shows its progress if reading takes long. */
struct cli_input {
    const char *name;
    int      fd;
    int64_t  size;       /* bytes of the file; 0 if not known */
    int64_t  done;
    int64_t  next_ns;    /* when progress is shown next; 0 for never */
    bool     shown;
    unsigned char head[CLI_KIND_BYTES]; /* the first bytes that were read */
    size_t   head_size;
};

/* The path "-" means stdin. Returns false after telling the user what is wrong. */
bool cli_open(const struct cli *cli, struct cli_input *input, const char *path);
void cli_close(struct cli_input *input);

/* Reads up to size more bytes of the input that data points to. Returns what read(2) returns. */
ptrdiff_t cli_more(void *data, void *buffer, size_t size);

/* Says that the input cannot be read: what it is instead and which command reads it, or the
 * error. Returns CLI_WRONG. */
int cli_unreadable(const struct cli *cli, const struct cli_input *input, const char *error);

/* Says what the command is doing. A terminal shows it when a second has passed since the first
 * file was opened. NULL says that the work is done, and removes the line. The caller passes NULL
 * before it writes anything else. */
void cli_doing(const char *what);

/* Reads the profile in that file; "-" means stdin. Returns NULL after telling the user what is
 * wrong. */
struct heapprof_model *cli_read(const struct cli *cli, const char *path);

/* Reads the profiles in all operands. names is what messages call them. An operand that a running
 * process has removed after a shell listed it, because it is of a series (profiler/series.h), is
 * told and taken out of the operands, if enough operands are left. Returns how
 * many were read. If that is less than operand_count, the user was told what is wrong. */
size_t cli_read_operands(struct cli *cli, struct heapprof_model **models, const char **names);

/* Finds the value of the profile that has that name. If name is NULL, it finds the value to show
 * first. Returns false after telling the user which values there are. */
bool cli_type(const struct cli *cli, const char *path, const struct heapprof_model *model,
              const char *name, uint32_t *type);

/* Returns a profile as a file has it, compressed by gzip, in a block from malloc. Returns NULL
 * if there is no memory. */
char *cli_encode(const struct heapprof_model *model, size_t *size);

/* Writes a profile to that file, which appears when it is complete. If path is "-" or NULL, it
 * writes to stdout, unless stdout is a terminal. Returns a status. */
int cli_save(const struct cli *cli, const struct heapprof_model *model, const char *path);

/* Likewise writes the profile's default type in another format. It also writes to a stdout that
 * is a terminal. */
int cli_export(const struct cli *cli, report_export_i *export, const struct heapprof_model *model,
               const char *path);

/* Opens what --output names, for a command that has the option: stdout, or a file that appears
 * when it is complete. Returns NULL after telling the user what is wrong. end closes it, and
 * returns a status. copy writes the file fd there instead. */
FILE *cli_output_open(const struct cli *cli);
int cli_output_end(const struct cli *cli, FILE *out);
int cli_output_copy(const struct cli *cli, int fd);

/* The format that a file's name ends with: "svg" of "time.svg"; "" if it is one of several, or none
 * that record writes; NULL if the name may be a profile's. */
const char *cli_format_by_name(const char *path);

/* For a command that writes a profile to what --output names. Returns false after telling the user
 * that the name is that of another format. */
bool cli_profile_name_p(const struct cli *cli);

/* Runs a command whose stdout goes to what --output names, if the option is given. Returns the
 * command's status, or CLI_WRONG after telling the user what is wrong. */
int cli_output_run(struct cli *cli);

/* What a command with the option says about who can read the file, for help. */
#define CLI_OUTPUT_READERS "with --output only the owner of the file (mode 0600)."

/* The option, for a command that prints to stdout. */
#define CLI_OUTPUT_OPTION {CLI_OUTPUT, NULL, "Write it to that file (default: stdout)"}

/* Returns who can read what the command writes; NULL if it writes nothing. */
const char *cli_readers(const struct cli_command *command);

/* Returns what a message calls that file. */
const char *cli_name(const char *path);

/* ---- the terminal ---- */

/* Returns the columns of the terminal that stdout is. Returns 0 if stdout is no terminal: lines
 * are not cut then. */
unsigned cli_width(void);
bool cli_colour(void);

/* Starts a pager that shows all further output to stdout, if stdout is a terminal. */
void cli_page(void);

/* Ends the output, and checks that all of it was written. A command that has written returns
 * this status. */
int cli_finish(const struct cli *cli);

/* ---- help.c ---- */

void cli_help(FILE *out, const struct cli_command *command); /* NULL: help of all commands */

#endif
