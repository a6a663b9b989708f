#ifndef HEAPPROF_CLI_MADE_H
#define HEAPPROF_CLI_MADE_H
/* What the build makes from the commands' tables when heapprof is installed. */
#include <stdio.h>

void cli_manual(FILE *out);          /* the man page, for man(7) macros */
void cli_completion_bash(FILE *out);
void cli_completion_zsh(FILE *out);
void cli_completion_fish(FILE *out);
void cli_option_table(FILE *out);     /* doc/options.md */

#endif
