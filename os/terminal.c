/* terminal.c - how wide a descriptor's terminal is, and whether it shows colours. */
#include "os/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define USUAL_WIDTH 80

unsigned
rb_heapprof_terminal_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;

    if (columns && atoi(columns) > 0) return (unsigned)atoi(columns);
    if (!isatty(fd)) return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL_WIDTH;
}

bool
rb_heapprof_terminal_colour_p(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    return fd >= 0 && isatty(fd) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}
