/* screen.c - draws lines on a terminal.
 *
 * The text that callers write to a line has to be harmless. report_put makes it so. */
#include "cli/live/screen.h"

#ifdef HEAPPROF_CURSES
# define NCURSES_WIDECHAR 1
# include <curses.h>
# include <stdlib.h>
# include <sys/ioctl.h>
# include <unistd.h>

# define ESCAPE_MS 25 /* how long the rest of a key may take after its ESC */

static struct {
    SCREEN *screen;
    FILE   *line;               /* the line that is being written */
    char   *text;
    size_t  size;
    enum cli_screen_look look;
    int     row;                /* its row */
} state;

/* A change of size between newterm's look at it and newterm's handler of SIGWINCH tells nobody. */
static void
ask_size(void)
{
    struct winsize size;

    if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
}

const char *
cli_screen_begin(void)
{
    if (!isatty(0) || !isatty(1)) return "it needs a terminal";
    state.screen = newterm(NULL, stdout, stdin);
    if (!state.screen) return "this terminal is not known (TERM)";
    set_term(state.screen);
    ask_size();
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    set_escdelay(ESCAPE_MS);
    return NULL;
}

void
cli_screen_end(void)
{
    endwin();
    delscreen(state.screen);
}

unsigned
cli_screen_width(void)
{
    return COLS > 0 ? (unsigned)COLS : 80;
}

unsigned
cli_screen_height(void)
{
    return LINES > 0 ? (unsigned)LINES : 24;
}

static void
finish_line(void)
{
    static const attr_t looks[] = {A_NORMAL, A_BOLD, A_REVERSE, A_BOLD | A_UNDERLINE};

    if (!state.line) return;
    fclose(state.line);
    state.line = NULL;
    attrset(looks[state.look]);
    if (state.row < LINES) {
        move(state.row, 0);
        clrtobot(); /* a line that is wider than the screen has gone on here */
        addstr(state.text);
    }
    if (state.look == CLI_SCREEN_HEADING && state.row < LINES) {
        int y, x;
        getyx(stdscr, y, x);
        if (y == state.row && x > 0) mvhline(y, x, ' ', COLS - x);
    }
    attrset(A_NORMAL);
    free(state.text);
    state.row++;
}

void
cli_screen_clear(void)
{
    erase();
    state.row = 0;
}

FILE *
cli_screen_line(enum cli_screen_look look)
{
    finish_line();
    state.look = look;
    state.line = open_memstream(&state.text, &state.size);
    return state.line;
}

void
cli_screen_show(void)
{
    finish_line();
    refresh();
}

int
cli_screen_key(int milliseconds)
{
    timeout(milliseconds);
    int key = getch();
    switch (key) {
      case ERR: return CLI_SCREEN_NONE;
      case KEY_UP: return CLI_SCREEN_UP;
      case KEY_DOWN: return CLI_SCREEN_DOWN;
      case KEY_PPAGE: return CLI_SCREEN_PAGE_UP;
      case KEY_NPAGE: return CLI_SCREEN_PAGE_DOWN;
      case KEY_ENTER: return '\n';
      case KEY_BACKSPACE: case 127: case 8: return CLI_SCREEN_BACKSPACE;
      case KEY_RESIZE: return CLI_SCREEN_RESIZED;
      default: return key < 256 ? key : CLI_SCREEN_NONE;
    }
}

#else

const char *
cli_screen_begin(void)
{
    return "this heapprof was built without ncurses (Debian: libncurses-dev)";
}

void cli_screen_end(void) { }
unsigned cli_screen_width(void) { return 80; }
unsigned cli_screen_height(void) { return 24; }
void cli_screen_clear(void) { }
FILE *cli_screen_line(enum cli_screen_look look) { return look ? stdout : stderr; }
void cli_screen_show(void) { }
int cli_screen_key(int milliseconds) { return milliseconds ? 'q' : CLI_SCREEN_NONE; }

#endif
