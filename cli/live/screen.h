#ifndef HEAPPROF_CLI_SCREEN_H
#define HEAPPROF_CLI_SCREEN_H
/* The whole terminal as a screen of lines, by ncurses; the only place that knows of it. */
#include <stdbool.h>
#include <stdio.h>

enum cli_screen_look {CLI_SCREEN_PLAIN, CLI_SCREEN_TITLE, CLI_SCREEN_HEADING};

enum cli_screen_key {
    CLI_SCREEN_NONE = 0, CLI_SCREEN_UP = 0x1000, CLI_SCREEN_DOWN, CLI_SCREEN_PAGE_UP, CLI_SCREEN_PAGE_DOWN,
    CLI_SCREEN_RESIZED
};

/* NULL: it has begun; otherwise why there can be none. */
const char *cli_screen_begin(void);
void cli_screen_end(void);

unsigned cli_screen_width(void);
unsigned cli_screen_height(void);

/* A frame: begin, any number of lines from the top, end, which shows it. A line is written to the stream that line
 * gives, up to the next call. Lines below the screen are not shown. */
void cli_screen_clear(void);
FILE *cli_screen_line(enum cli_screen_look look);
void cli_screen_show(void);

/* A key that was pressed, a character or one of the above; waits so many milliseconds at most. */
int cli_screen_key(int milliseconds);

#endif
