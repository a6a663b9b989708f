/* kinds.c - tells profiles, object graphs, cores, pages and JSON apart. */
#include "cli/kinds.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/cli.h"
#include "dump/format.h"

/* Unpacks the beginning of a gzip'd file. Returns how many bytes it has. */
static size_t
unpack(unsigned char *to, size_t size, const unsigned char *bytes, size_t length)
{
    z_stream stream = {.next_in = (unsigned char *)bytes, .avail_in = (uInt)length, .next_out = to,
                       .avail_out = (uInt)size};

    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return 0;
    inflate(&stream, Z_SYNC_FLUSH);
    inflateEnd(&stream);
    return size - stream.avail_out;
}

static bool
begins_p(const unsigned char *bytes, size_t size, const char *with, size_t length)
{
    return size >= length && !memcmp(bytes, with, length);
}

/* A profile in pprof's format begins with a sample type: field 1, a short message that begins
 * with its own field 1, a number. */
static bool
profile_p(const unsigned char *bytes, size_t size)
{
    return size > 3 && bytes[0] == 0x0a && bytes[1] <= 24 && bytes[2] == 0x08;
}

enum cli_kind
cli_kind_of(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    unsigned char inner[CLI_KIND_BYTES];

    if (begins_p(bytes, size, "\x1f\x8b", 2)) { /* nothing else that heapprof knows is gzip'd */
        size = unpack(inner, sizeof(inner), bytes, size);
        return size == 0 || profile_p(inner, size) ? CLI_KIND_PROFILE : CLI_KIND_UNKNOWN;
    }
    if (profile_p(bytes, size)) return CLI_KIND_PROFILE;
    if (begins_p(bytes, size, HEAPPROF_DUMP_MAGIC, HEAPPROF_DUMP_MAGIC_BYTES)) {
        return CLI_KIND_GRAPH;
    }
    if (begins_p(bytes, size, "\x7f""ELF", 4)) {
        return size > 17 && bytes[16] == 4 ? CLI_KIND_CORE : CLI_KIND_UNKNOWN;
    }
    if (begins_p(bytes, size, "<!doctype html", 14)) return CLI_KIND_PAGE;
    bool json = begins_p(bytes, size, "{", 1) || begins_p(bytes, size, "[", 1);
    return json ? CLI_KIND_JSON : CLI_KIND_UNKNOWN;
}

enum cli_kind
cli_kind_of_file(const char *path)
{
    unsigned char bytes[CLI_KIND_BYTES];
    struct stat status;
    bool file = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    int fd = file ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));

    if (fd >= 0) close(fd);
    return size > 0 ? cli_kind_of(bytes, (size_t)size) : CLI_KIND_UNKNOWN;
}

/* Returns the command that does with an object graph, or with a profile, what the given one does
 * with the other. */
static const char *
counterpart(const struct cli_command *command, bool graph)
{
    static char name[32];
    const char *word = command ? command->name : "";

    if (!strncmp(word, "graph ", 6)) word += 6;
    snprintf(name, sizeof(name), "%s%s", graph ? "graph " : "", word);
    const struct cli_command *found = cli_find(name);
    if (found && found != command && found->operand == CLI_FILES) return found->name;
    return graph ? "graph report" : "top";
}

bool
cli_kind_advise(char advice[CLI_KIND_ADVICE_MAX], enum cli_kind kind,
                const struct cli_command *command, const char *path)
{
    bool of_graphs = command && !strncmp(command->name, "graph ", 6);
    bool of_files = command && command->operand == CLI_FILES;

    switch (kind) {
      case CLI_KIND_PROFILE:
        if (of_files && !of_graphs) return false;
        snprintf(advice, CLI_KIND_ADVICE_MAX, "is a profile; type heapprof %s %s",
                 counterpart(command, false), path);
        return true;
      case CLI_KIND_GRAPH:
        if (of_files && of_graphs) return false;
        snprintf(advice, CLI_KIND_ADVICE_MAX, "is an object graph; type heapprof %s %s",
                 counterpart(command, true), path);
        return true;
      case CLI_KIND_CORE:
        snprintf(advice, CLI_KIND_ADVICE_MAX, "is a core file; type heapprof stacks --core %s",
                 path);
        return true;
      case CLI_KIND_PAGE:
        snprintf(advice, CLI_KIND_ADVICE_MAX, "is a page; open it in a browser");
        return true;
      case CLI_KIND_JSON:
        snprintf(advice, CLI_KIND_ADVICE_MAX,
                 "is JSON, which heapprof does not read; give the file that it was made from");
        return true;
      default:
        return false;
    }
}
