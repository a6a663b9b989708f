#ifndef HEAPPROF_CLI_SUGGEST_H
#define HEAPPROF_CLI_SUGGEST_H
/* Which word was meant by one that is not known. */

struct cli_suggestion {
    const char *word;    /* what was typed */
    const char *nearest; /* the candidate that is most like it; NULL if none is like it */
    unsigned    typos;   /* between the two */
};

/* Compares the word with one more candidate, which has to stay alive. */
void cli_suggest(struct cli_suggestion *suggestion, const char *candidate);

#endif
