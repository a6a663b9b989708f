/* html.c - writes the page with its data: first in memory, then to a file. The file is complete
 * or does not exist.
 *
 * The page is linked in. MARK stands in it where the data belongs. The output is the text before
 * MARK, the data, and the text after MARK.
 */
#define _GNU_SOURCE /* memmem, mkostemps */
#include "cli/html.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "report/text.h"

#define MARK "@@DATA@@"

/* Defined by the linker. The page is empty in a build without npm. */
extern const char _binary_page_html_start[], _binary_page_html_end[];

/* Bytes that grow as a stream writes them. */
struct memory {
    char  *bytes;
    size_t size;
};

/* The pointers are volatile: a compiler may assume that two arrays are at different places. */
static size_t
page_size(void)
{
    const char *volatile end = _binary_page_html_end;

    return (size_t)(end - _binary_page_html_start);
}

bool
cli_html_there(const struct cli *cli)
{
    if (page_size() > 0) return true;
    cli_wrong(cli, "this heapprof was built without its page, because npm was missing: install "
                   "npm, and build again");
    return false;
}

const char *
cli_html_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : cli_name(path);
}

/* Makes the page in memory. Returns false if there is no memory left. */
static bool
make_page(struct memory *page, cli_html_put_i *put, void *data)
{
    const char *start = _binary_page_html_start, *end = start + page_size();
    const char *mark = memmem(start, page_size(), MARK, strlen(MARK));
    FILE *out = open_memstream(&page->bytes, &page->size);
    bool done;

    if (!out) return false;
    fwrite(start, 1, (size_t)(mark - start), out);
    done = put(out, data);
    fwrite(mark + strlen(MARK), 1, (size_t)(end - mark) - strlen(MARK), out);
    done = !ferror(out) && done;
    return fclose(out) == 0 && done;
}

/* ---- the file ---- */

/* Writes a new file in the directory for temporary files. Returns 0, or errno. */
static int
write_temporary(const struct memory *page, char path[PATH_MAX])
{
    const char *directory = getenv("TMPDIR");
    int fd, error = 0;

    if (!directory || directory[0] != '/') directory = "/tmp";
    if (snprintf(path, PATH_MAX, "%s/heapprof-XXXXXX.html", directory) >= PATH_MAX)
        return ENAMETOOLONG;
    fd = mkostemps(path, 5, O_CLOEXEC);
    if (fd < 0) return errno;
    if (rb_heapprof_file_write(fd, page->bytes, page->size) < page->size) error = errno;
    if (close(fd) != 0 && !error) error = errno;
    if (error) unlink(path);
    return error;
}

/* Whether a user sits at this machine's desktop. */
static bool
desktop_p(void)
{
    return isatty(1) && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
}

/* Opens the page with the program that the desktop uses for pages. */
static bool
open_browser(const char *path)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++) dup2(null, fd);
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int
show_page(const struct cli *cli, const struct memory *page, const char *path, bool open)
{
    char temporary[PATH_MAX];
    int error;

    if (path && !strcmp(path, "-")) {
        fwrite(page->bytes, 1, page->size, stdout);
        return cli_finish(cli);
    }
    error = path ? rb_heapprof_file_write_whole(path, page->bytes, page->size, true)
                 : write_temporary(page, temporary);
    if (error) return cli_wrong(cli, "%s: %s", path ? path : temporary, strerror(error));
    if (!path) path = temporary;
    report_print(stdout, "%s\n", path);
    if ((open || (path == temporary && desktop_p())) && !open_browser(path)) {
        cli_wrong(cli, "%s: xdg-open could not open it", path);
        return open ? CLI_WRONG : cli_finish(cli);
    }
    return cli_finish(cli);
}

int
cli_html_show(const struct cli *cli, cli_html_put_i *put, void *data, const char *path, bool open)
{
    struct memory page = {0};
    int status;

    if (make_page(&page, put, data)) status = show_page(cli, &page, path, open);
    else status = cli_wrong(cli, "%s: no memory", cli_name(cli->operands[0]));
    free(page.bytes);
    return status;
}
