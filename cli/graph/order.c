/* order.c - reads of each dump which process has written it, and which of that process's dumps it
 * is ("set" and "dump", doc/graph-format.md). A shell lists the tenth before the second. */
#include "cli/graph/order.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/reader.h"
#include "graph/difference.h"
#include "report/text.h"

struct numbered_dump {
    char    *path;
    uint64_t set, number;        /* 0: the dump does not say */
};

static uint64_t
number_of(struct heapprof_dump_text text)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%.*s", (int)(text.length < 23 ? text.length : 23),
             text.bytes);
    return strtoull(digits, NULL, 10);
}

static bool
same_p(struct heapprof_dump_text text, const char *word)
{
    return text.length == strlen(word) && !memcmp(text.bytes, word, text.length);
}

static bool
on_fact(void *data, bool footer, struct heapprof_dump_text key, struct heapprof_dump_text value)
{
    struct numbered_dump *dump = data;

    if (!footer && same_p(key, "set")) dump->set = number_of(value);
    if (!footer && same_p(key, "dump")) dump->number = number_of(value);
    return !dump->set || !dump->number;
}

/* The facts of the process come before the objects. */
static bool
stop(void *data, const struct heapprof_dump_read_object *object)
{
    (void)data, (void)object;
    return false;
}

static void
read_number(struct numbered_dump *dump)
{
    struct heapprof_dump_visitor visitor = {.data = dump, .fact = on_fact, .object = stop};
    bool file = cli_kind_of_file(dump->path) == CLI_KIND_GRAPH;
    struct cli_input input = {.fd = file ? open(dump->path, O_RDONLY | O_CLOEXEC) : -1};
    char error[HEAPPROF_DUMP_ERROR_MAX];

    if (input.fd < 0) return;
    rb_heapprof_dump_read(cli_more, &input, &visitor, error);
    cli_close(&input);
}

static int
by_number(const void *a, const void *b)
{
    const struct numbered_dump *one = a, *other = b;

    return (one->number > other->number) - (one->number < other->number);
}

static void
say_order(const struct cli *cli)
{
    fprintf(stderr, "heapprof %s: the dumps are read in the order of their times:",
            cli->command->name);
    for (size_t i = 0; i < cli->operand_count; i++) report_print(stderr, " %s", cli->operands[i]);
    fputc('\n', stderr);
}

void
cli_graph_order(const struct cli *cli)
{
    struct numbered_dump dumps[GRAPH_DUMPS_MOST] = {0};
    bool sorted = true;

    for (size_t i = 0; i < cli->operand_count; i++) {
        dumps[i].path = cli->operands[i];
        read_number(&dumps[i]);
        if (!dumps[i].set || dumps[i].set != dumps[0].set || !dumps[i].number) return;
        if (i && dumps[i - 1].number > dumps[i].number) sorted = false;
    }
    if (sorted) return;
    qsort(dumps, cli->operand_count, sizeof(*dumps), by_number);
    for (size_t i = 0; i < cli->operand_count; i++) cli->operands[i] = dumps[i].path;
    say_order(cli);
}
