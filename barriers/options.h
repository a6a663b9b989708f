#ifndef HEAPPROF_BARRIERS_OPTIONS_H
#define HEAPPROF_BARRIERS_OPTIONS_H
/* The options of `heapprof barriers`, in one table for two programs: heapprof prints their help,
 * and heapprof-barriers obeys them. A row: C name, option, letter, value, choices, help. */
#define WB_OPTIONS(X) \
    X(ALL, "--all", NULL, \
      "Also show stores that need no barrier, with the reason; stores of types that are not " \
      "WB_PROTECTED; and what a type lacks to become WB_PROTECTED") \
    X(JSON, "--json", NULL, \
      "Write JSON: types, and all findings, with those that are harmless") \
    X(SARIF, "--sarif", NULL, "Write SARIF 2.1.0, which editors and CI systems show") \
    X(JUNIT, "--junit", NULL, \
      "Write JUnit's XML, which CI servers read: a test case for each type") \
    X(EXTCONF, "--extconf", NULL, \
      "Where there is an extconf.rb and no Makefile, run extconf.rb, in a temporary directory. " \
      "This runs code of the extension's author. Words behind \"--\" are its arguments, " \
      "except with --confirm") \
    X(TIMEOUT, "--timeout", "SECONDS", \
      "Give up on an extconf.rb after so many seconds; default: 300") \
    X(FIX, "--fix", NULL, \
      "Write a unified diff that adds the missing barriers, for `patch -p1`; with --all also " \
      "WB_PROTECTED for types that could have it. A line on stderr names each store that you " \
      "have to change by hand") \
    X(ACCEPT, "--accept", "FILE", \
      "A file that lists stores which need no barrier. Each line is PATH:FUNCTION:FIELD REASON; " \
      "\"*\" stands for any function or field") \
    X(CONFIRM, "--confirm", NULL, \
      "Run the command behind \"--\" under RUBY_WBCHECK, and say of each store whether the " \
      "collector missed its barrier") \
    X(FLAGS, "--flags", "FLAGS", \
      "More compiler flags for every file, as in \"-I DIR -D NAME\"; they follow the file's own " \
      "flags")

/* The program that does the work. It stands beside heapprof. */
#define WB_PROGRAM "heapprof-barriers"

/* Exit statuses. */
enum wb_status {
    WB_CLEAN = 0,   /* every store has its barrier */
    WB_MISSING = 1, /* some store has none */
    WB_TROUBLE = 2  /* the command line is wrong, or something could not be read; a line says
                     * what */
};

#endif
