#ifndef HEAPPROF_CLI_OPTIONS_H
#define HEAPPROF_CLI_OPTIONS_H
/* The table of all options. Each has a row here, and only here: its name, its letter, what its
 * value is, and what it means. A command refers to the row, and adds what the option does there
 * (struct cli_option). Parser, help, man page, completions and doc/options.md read the table.
 *
 * So a name or a letter has one meaning in all commands. A row or a letter that stands here twice
 * does not compile (options.c); test/cli/test_options.rb refuses a name that does.
 *
 * A value FILE or DIR is completed as a path. */
#include <stddef.h>

/* LETTER(option, "--name", letter, value, meaning), or WORD without a letter. The value is NULL
 * if the option has none. */
#define CLI_OPTIONS(LETTER, WORD) \
    /* what is shown */ \
    LETTER(BY,       "--by",       'b', "TYPE",    "Which of the profile's values is shown") \
    LETTER(GROUP,    "--group",    'g', "GROUP",   "What a row stands for") \
    LETTER(SORT,     "--sort",     's', "FIELD",   "What the first rows have most of") \
    LETTER(COUNT,    "--count",    'n', "N",       "How many rows are shown") \
    LETTER(FOCUS,    "--focus",    'f', "RE",      "Only what has a frame that matches") \
    LETTER(IGNORE,   "--ignore",   'i', "RE",      "Only what has no frame that matches") \
    WORD(FOCUS_LABEL, "--focus-label", "KEY=RE", "Only what has a label that matches") \
    WORD(ROOT,       "--root",       "label:KEY", "What stacks begin with") \
    LETTER(ALL,      "--all",      'a', NULL,      "Also what is harmless") \
    LETTER(LEAST,    "--least",    'l', "PERCENT", "Nothing below this part of the whole") \
    WORD(DEPTH,      "--depth",       "N",       "How many levels of a tree are shown") \
    WORD(FRAMES,     "--frames",      "N",       "How many frames of a call site are shown") \
    WORD(APP,        "--app",         "DIR",     "Where the application's code is") \
    WORD(RETAINED,   "--retained",    NULL,      "Retained bytes decide the order") \
    WORD(FILL,       "--fill",        NULL,      "How full collections are") \
    WORD(KEYS,       "--keys",        NULL,      "String keys of Hashes are shown in paths") \
    WORD(HELD,       "--held",        NULL,      "Also threads that the program could end") \
    WORD(EXACT,      "--exact",       NULL,      "Caches and words of a stack keep objects, too") \
    WORD(MEMORY,     "--memory",      "SIZE",    "Most memory for a graph") \
    WORD(SOURCES,    "--sources",     "DIR",     "Where lines of source are read") \
    WORD(NO_SOURCES, "--no-sources",  NULL,      "No lines of source") \
    /* what is written, and where */ \
    LETTER(OUTPUT,   "--output",   'o', "FILE",    "The file that is written; \"-\" is stdout") \
    WORD(TO,         "--to",          "FORMAT",  "The format that is written; also --format") \
    LETTER(KEEP,     "--keep",     'k', "N",       "How many files of a series are kept") \
    LETTER(QUIET,    "--quiet",    'q', NULL,      "Nothing is said at the end") \
    WORD(JSON,       "--json",        NULL,      "The answer is JSON") \
    WORD(SARIF,      "--sarif",       NULL,      "The answer is SARIF 2.1.0") \
    WORD(MARKDOWN,   "--markdown",    NULL,      "The answer is a table of Markdown") \
    WORD(GITHUB,     "--github",      NULL,      "The answer is warnings of GitHub's workflows") \
    WORD(FAIL_OVER,  "--fail-over",   "SIZE",    "Growth above which the exit status is 3") \
    WORD(JUNIT,      "--junit",       NULL,      "The answer is JUnit's XML") \
    WORD(VIEW,       "--view",        NULL,      "A page is written, too") \
    WORD(OPEN,       "--open",        NULL,      "A browser opens the page") \
    /* what is measured, and when */ \
    LETTER(EVERY,    "--every",    'e', "SECONDS", "The time between two files of a series") \
    LETTER(RATE,     "--rate",     'r', "N",       "How many looks are taken in a second") \
    LETTER(DURATION, "--duration", 'd', "SECONDS", "How long it is recorded; also --seconds") \
    WORD(REQUESTS,   "--requests",    "N",       "It ends after N requests") \
    LETTER(MODE,     "--mode",     'm', "MODE",    "Which time counts") \
    LETTER(CORE,     "--core",     'c', "FILE",    "A core file is read, not a process") \
    WORD(INTERVAL,   "--interval",    "BYTES",   "A sample is taken every BYTES allocated") \
    WORD(MALLOC,     "--malloc",      "WHOSE",   "Whose malloc'ed memory is counted") \
    WORD(SIGNAL,     "--signal",      "NAME",    "The signal at which a profile is written") \
    WORD(AT,         "--at",          "MARKS",   "Marks of memory at which a profile is written") \
    WORD(TIMEOUT,    "--timeout",     "SECONDS", "How long it waits at most") \
    WORD(STOP,       "--stop",        "WHOM",    "What is stopped while it is read") \
    WORD(THREADS,    "--threads",     NULL,      "Each thread by itself") \
    WORD(FIBERS,     "--fibers",      NULL,      "Also fibers that do not run") \
    WORD(NATIVE,     "--native",      NULL,      "Also C functions") \
    WORD(NATIVE_ALL, "--native-all",  NULL,      "Also C functions of Ruby itself") \
    WORD(LOCALS,     "--locals",      NULL,      "Local variables, with their classes") \
    WORD(VALUES,     "--values",      NULL,      "Short values of local variables") \
    WORD(IDLE,       "--idle",        NULL,      "Also threads that wait") \
    WORD(GC,         "--gc",          NULL,      "Garbage collection as a function") \
    WORD(CHILDREN,   "--children",    NULL,      "Also child processes") \
    WORD(NO_LINES,   "--no-lines",    NULL,      "By function, not by line") \
    WORD(DIFF,       "--diff",        "FILE",    "The older profile, to show what grew since") \
    WORD(LISTEN,     "--listen",      "WHERE",   "The address or socket file that is served") \
    /* memcheck */ \
    WORD(ENGINE,     "--engine",      "ENGINE",  "What finds leaks") \
    WORD(RUBY,       "--ruby",        NULL,      "Also leaks of Ruby itself") \
    WORD(UNDEFINED,  "--undefined",   NULL,      "Also uses of undefined values") \
    WORD(OBJECTS,    "--objects",     "[SIZE]",  "Also uses of dead objects") \
    WORD(SIZES,      "--sizes",       NULL,      "Also types whose dsize is wrong") \
    WORD(GC_STRESS,  "--gc-stress",   "N",       "A GC at each Nth allocation") \
    WORD(ONLY,       "--only",        "NAME",    "Only leaks of this library") \
    WORD(SHOW,       "--show",        "KINDS",   "Which kinds of leaks are shown") \
    WORD(SUPPRESSIONS, "--suppressions", "FILE", "Known leaks, which are not shown") \
    WORD(GENERATE,   "--gen-suppressions", NULL, "With each leak the line that would suppress it") \
    WORD(BASELINE,   "--baseline",    "FILE",    "What was known before, which is not shown") \
    WORD(WRITE_BASELINE, "--write-baseline", "FILE", "A file for --baseline is written") \
    WORD(EXITCODE,   "--exitcode",    "N",       "Exit status if something was found") \
    /* barriers */ \
    WORD(EXTCONF,    "--extconf",     NULL,      "An extconf.rb is run") \
    WORD(FIX,        "--fix",         NULL,      "A diff that adds the missing barriers") \
    WORD(ACCEPT,     "--accept",      "FILE",    "Stores that need no barrier") \
    WORD(CONFIRM,    "--confirm",     NULL,      "A command is run, and watched by the collector") \
    WORD(FLAGS,      "--flags",       "FLAGS",   "More flags for the compiler") \
    /* about heapprof */ \
    LETTER(HELP,     "--help",     'h', NULL,      "Help of the command is shown") \
    LETTER(VERSION,  "--version",  'V', NULL,      "The version is shown") \
    WORD(MAN,        "--man",         NULL,      "The man page") \
    WORD(COMPLETION, "--completion",  "SHELL",   "The completions of a shell") \
    WORD(OPTION_TABLE, "--options",     NULL,      "The table of options") \
    WORD(PROCESSES,  "--processes",   NULL,      "The Ruby processes that may be read")

/* What other programs call an option: (name, option). It is accepted like the option's own name. */
#define CLI_SECOND_NAMES(X) \
    X("--format", TO) \
    X("--seconds", DURATION)

/* Spellings of earlier versions: (command, spelling, option). They work, and a line says what to
 * type instead. */
#define CLI_OLD_SPELLINGS(X) \
    X("run",         "--out",    OUTPUT) \
    X("run",         "-i",       INTERVAL) \
    X("memcheck",    "--out",    OUTPUT) \
    X("memcheck",    "--core",   RUBY) \
    X("memcheck",    "-s",       SUPPRESSIONS) \
    X("record",      "-f",       TO) \
    X("record",      "-t",       THREADS) \
    X("record",      "-c",       CHILDREN) \
    X("record",      "-s",       STOP) \
    X("watch",       "-s",       STOP) \
    X("stacks",      "-s",       STOP) \
    X("stacks",      "-f",       FIBERS) \
    X("snapshot",    "-s",       STOP) \
    X("snapshot",    "-d",       DIFF) \
    X("serve",       "-l",       LISTEN) \
    X("convert",     "-t",       TO) \
    X("graph convert", "-t",     TO) \
    X("graph dump",  "-t",       TIMEOUT) \
    X("graph tree",  "-d",       DEPTH)

enum cli_option_id {
    CLI_NO_OPTION,
#define CLI_LETTER(option, name, letter, value, meaning) CLI_##option,
#define CLI_WORD(option, name, value, meaning) CLI_##option,
    CLI_OPTIONS(CLI_LETTER, CLI_WORD)
#undef CLI_LETTER
#undef CLI_WORD
    CLI_OPTION_COUNT
};

/* A row of the table. */
struct cli_option_words {
    const char *name;    /* "--by" */
    char        letter;  /* 'n' of "-n"; 0 if it has none */
    const char *value;   /* what its value is, "TYPE"; NULL if it has no value */
    const char *meaning; /* in all commands */
};

extern const struct cli_option_words cli_option_words[CLI_OPTION_COUNT];

/* The option of a letter, and of the first `length` bytes of a word, which may be its second name.
 * Both return CLI_NO_OPTION if no option has that letter or name. */
enum cli_option_id cli_option_of_letter(char letter);
enum cli_option_id cli_option_of_name(const char *word, size_t length);

struct cli_old_spelling {
    const char *command, *spelling;
    enum cli_option_id option;
};

/* All of them. The list ends with a command NULL. */
extern const struct cli_old_spelling cli_old_spellings[];

#endif
