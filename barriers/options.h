#ifndef HEAPPROF_BARRIERS_OPTIONS_H
#define HEAPPROF_BARRIERS_OPTIONS_H
/* The options of `heapprof barriers`, once for both programs: heapprof, which knows what to say of them, and
 * heapprof-barriers, which does what they say. A row: what C calls it, its name, letter, value, choices, and help. */
#define WB_OPTIONS(X) \
    X(ALL, "--all", 'a', NULL, NULL, \
      "Show also stores that need no barrier, and why, those of types that are not WB_PROTECTED, and what types lack to be that") \
    X(JSON, "--json", 0, NULL, NULL, "As JSON: all findings, also harmless ones, and types") \
    X(SARIF, "--sarif", 0, NULL, NULL, "As SARIF 2.1.0, which editors and CI systems show") \
    X(EXTCONF, "--extconf", 0, NULL, NULL, \
      "Run an extconf.rb that has made no Makefile, in a directory of its own: it is a program, of whoever wrote it") \
    X(FIX, "--fix", 0, NULL, NULL, \
      "Write a unified diff that adds the barriers, for `patch -p1`, with --all also WB_PROTECTED to types that could be that; " \
      "what has to be mended by hand is told") \
    X(ACCEPT, "--accept", 0, "FILE", "FILE", \
      "Stores that need no barrier, a line each: PATH:FUNCTION:FIELD REASON; \"*\" is any function or field") \
    X(CONFIRM, "--confirm", 0, NULL, NULL, \
      "Run the command behind \"--\" under RUBY_WBCHECK, and say of each store whether the collector missed its barrier") \
    X(FLAGS, "--flags", 0, "FLAGS", NULL, "Compiler flags for all files, behind their own: \"-I DIR -D NAME\"")

/* The program of its own, beside heapprof. */
#define WB_PROGRAM "heapprof-barriers"

/* Exit statuses. */
enum wb_status {
    WB_CLEAN = 0,   /* every store has its barrier */
    WB_MISSING = 1, /* some have none */
    WB_TROUBLE = 2  /* the command line, or something could not be read: a line said what */
};

#endif
