/* blocks.c - adds up blocks of malloc by the C function that has asked for them, and by the line of
 * the application that has called it. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* qsort_r */
#endif
#include "cli/leak/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/own.h"
#include "report/text.h"

#define SIDE_SHARE 20            /* less than 1/20 of the largest is not told */

/* Rows with the same subject and the same line are one. */
struct sum {
    uint32_t subject, function, line; /* function 0: no line of the application */
    double bytes, variance;
};

static const char *
text(const struct heapprof_snapshot *snapshot, uint32_t string)
{
    return string ? rb_heapprof_strings_get(&snapshot->strings, string, NULL) : "";
}

static const char *
path_of(const struct heapprof_snapshot *snapshot, uint32_t function)
{
    return text(snapshot, rb_heapprof_functions_get(&snapshot->functions, function)->path);
}

/* Finds a stack's innermost frame of the application. Returns NULL if it has none. */
static const struct heapprof_stack_node *
own_frame(const struct heapprof_snapshot *snapshot, uint32_t stack, const char *directories)
{
    while (stack) {
        const struct heapprof_stack_node *node = rb_heapprof_stacks_node(&snapshot->stacks, stack);
        const struct heapprof_function *function =
            rb_heapprof_functions_get(&snapshot->functions, node->function);
        if (!function->cfunc && report_own_p(path_of(snapshot, node->function), directories))
            return node;
        stack = node->parent;
    }
    return NULL;
}

/* The application's directories; NULL if no block was called for below them, as with
 * "ruby ../app.rb". */
static const char *
directories_of(const struct heapprof_snapshot *snapshot, const char *directories)
{
    for (size_t i = 0; i < snapshot->row_count; i++) {
        const struct heapprof_stack_node *own =
            own_frame(snapshot, snapshot->rows[i].stack, directories);
        if (own && report_below_p(path_of(snapshot, own->function), directories))
            return directories;
    }
    return NULL;
}

/* "ruby", or "libruby.so.3.4" */
static bool
ruby_p(const char *library)
{
    return !strcmp(library, "ruby") || !strncmp(library, "libruby", 7);
}

static int
compare(uint32_t one, uint32_t other)
{
    return (one > other) - (one < other);
}

static int
by_place(const void *a, const void *b)
{
    const struct sum *one = a, *other = b;
    int order = compare(one->subject, other->subject);

    if (!order) order = compare(one->function, other->function);
    return order ? order : compare(one->line, other->line);
}

static int
larger_first(const void *a, const void *b)
{
    const struct sum *one = a, *other = b;

    return (one->bytes < other->bytes) - (one->bytes > other->bytes);
}

/* Of ruby, or of C that is named. */
static bool
wanted_p(const struct heapprof_snapshot *snapshot, const struct heapprof_row *row, bool of_ruby)
{
    bool ruby = !row->library || ruby_p(text(snapshot, row->library));

    if (row->kind != HEAPPROF_ROW_BLOCKS || row->inuse_malloc_bytes <= 0) return false;
    return of_ruby ? ruby : !ruby && row->subject;
}

static size_t
collect(struct sum *sums, const struct heapprof_snapshot *snapshot, const char *directories,
        bool of_ruby)
{
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < snapshot->row_count; i++) {
        const struct heapprof_row *row = &snapshot->rows[i];
        if (!wanted_p(snapshot, row, of_ruby)) continue;
        const struct heapprof_stack_node *own = own_frame(snapshot, row->stack, directories);
        if (of_ruby && !own) continue;
        sums[count++] = (struct sum){of_ruby ? 0 : row->subject, own ? own->function : 0,
                                     own ? own->line : 0, row->inuse_malloc_bytes,
                                     row->inuse_variance};
    }
    qsort(sums, count, sizeof(*sums), by_place);
    for (size_t i = 0; i < count; i++) {
        if (kept && by_place(&sums[kept - 1], &sums[i]) == 0) {
            sums[kept - 1].bytes += sums[i].bytes;
            sums[kept - 1].variance += sums[i].variance;
        }
        else sums[kept++] = sums[i];
    }
    qsort(sums, kept, sizeof(*sums), larger_first);
    return kept;
}

static void
name(struct cli_leak_block *block, const struct sum *sum, const struct heapprof_snapshot *snapshot,
     const char *directories)
{
    *block = (struct cli_leak_block){.bytes = sum->bytes, .variance = sum->variance};
    snprintf(block->function, sizeof(block->function), "%s", text(snapshot, sum->subject));
    if (!sum->function) return;
    const struct heapprof_function *function =
        rb_heapprof_functions_get(&snapshot->functions, sum->function);
    snprintf(block->line, sizeof(block->line), "%s:%" PRIu32 " %s",
             report_short_path(path_of(snapshot, sum->function), directories), sum->line,
             text(snapshot, function->name));
}

/* Returns how many there are. */
static size_t
find(struct cli_leak_block *blocks, const struct heapprof_snapshot *snapshot,
     const char *directories, bool of_ruby)
{
    struct sum *sums = calloc(snapshot->row_count + 1, sizeof(*sums));
    size_t count = sums ? collect(sums, snapshot, directories, of_ruby) : 0, found = 0;

    while (found < count && found < CLI_LEAK_BLOCKS_MOST &&
           sums[found].bytes * SIDE_SHARE >= sums[0].bytes) {
        name(&blocks[found], &sums[found], snapshot, directories);
        found++;
    }
    free(sums);
    return found;
}

void
cli_leak_blocks_find(struct cli_leak_blocks *blocks, const struct heapprof_snapshot *snapshot,
                     const char *directories)
{
    directories = directories_of(snapshot, directories);
    blocks->count = find(blocks->all, snapshot, directories, false);
    blocks->of_ruby_count = find(blocks->of_ruby, snapshot, directories, true);
}

double
cli_leak_blocks_bytes(const struct cli_leak_blocks *blocks)
{
    double bytes = 0;

    for (size_t i = 0; i < blocks->count; i++) bytes += blocks->all[i].bytes;
    return bytes;
}

void
cli_leak_blocks_put(FILE *out, const struct cli_leak_block *blocks, size_t count)
{
    char amount[REPORT_AMOUNT_MAX], error[REPORT_AMOUNT_MAX];

    for (const struct cli_leak_block *block = blocks; block < blocks + count; block++) {
        const char *between = block->function[0] && block->line[0] ? ", called at " : "";
        report_amount(amount, block->bytes, "bytes");
        report_amount(error, sqrt(block->variance), "bytes");
        fprintf(out, "%11s  ", amount);
        report_print(out, "%s%s%s (+-%s)\n", block->function, between, block->line, error);
    }
}
