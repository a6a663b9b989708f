#ifndef HEAPPROF_CLI_SCREEN_H
#define HEAPPROF_CLI_SCREEN_H
/* The whole terminal as a screen of lines. Only screen.c knows of ncurses. */
#include <stdbool.h>
#include <stdio.h>

enum cli_screen_look {CLI_SCREEN_PLAIN, CLI_SCREEN_TITLE, CLI_SCREEN_HEADING, CLI_SCREEN_FOUND};

enum cli_screen_key {
    CLI_SCREEN_NONE = 0,
    CLI_SCREEN_UP = 0x1000,
    CLI_SCREEN_DOWN,
    CLI_SCREEN_PAGE_UP,
    CLI_SCREEN_PAGE_DOWN,
    CLI_SCREEN_BACKSPACE,
    CLI_SCREEN_RESIZED
};

/* Begins the screen. Returns NULL, or a text that says why there can be no screen. */
const char *cli_screen_begin(void);
void cli_screen_end(void);

unsigned cli_screen_width(void);
unsigned cli_screen_height(void);

/* Draws one picture: call clear, then line for each line from the top, then show. line returns
 * the stream to write its text to; the stream is valid up to the next call. Lines below the
 * screen are not shown. */
void cli_screen_clear(void);
FILE *cli_screen_line(enum cli_screen_look look);
void cli_screen_show(void);

/* Waits up to that many milliseconds for a key. Returns its character, or a value of
 * cli_screen_key. */
int cli_screen_key(int milliseconds);

#endif
