/* block_list.c - reads the log line by line. Lines longer than Valgrind's are cut. */
#include "memcheck/valgrind/block_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_BYTES ((size_t)256 << 20)
#define LINE_MOST 1024

/* The text after "==PID=="; NULL if the line has none. */
static const char *
content(const char *line)
{
    const char *end = strncmp(line, "==", 2) == 0 ? strstr(line + 2, "== ") : NULL;
    return end ? end + strlen("== ") : NULL;
}

/* Reads "1,234 of 5,678"; returns 0 for other text. */
static uint32_t
read_number(const char **text)
{
    uint64_t number = 0;

    for (; (**text >= '0' && **text <= '9') || **text == ','; ++*text) {
        if (**text != ',') number = 10 * number + (uint64_t)(**text - '0');
        if (number > UINT32_MAX) return 0;
    }
    return (uint32_t)number;
}

static void
read_header(struct memcheck_block_list *list, const char *text, uint32_t *number)
{
    const char *record = strstr(text, " in loss record ");

    if (!record) return;
    record += strlen(" in loss record ");
    *number = read_number(&record);
    if (strncmp(record, " of ", 4) != 0) return;
    record += 4;
    list->of = read_number(&record);
}

/* Reads "0x207229F0[112]". */
static bool
read_block(const char *text, struct memcheck_block *block)
{
    int length = 0;

    *block = (struct memcheck_block){0};
    return sscanf(text, "0x%" SCNx64 "[%" SCNd64 "]%n", &block->address, &block->bytes,
                  &length) == 2 && length > 0 &&
           block->bytes >= 0;
}

static bool
take(struct memcheck_block_list *list, const char *text, uint32_t *number)
{
    size_t spaces = strspn(text, " ");
    struct memcheck_block block;

    if (!read_block(text + spaces, &block)) {
        if (spaces == 0) read_header(list, text, number);
        return true;
    }
    if (spaces > 0 && list->count > 0) {
        struct memcheck_block *leader = &list->blocks[list->count - 1];
        leader->indirect_blocks++;
        if (block.bytes < INT64_MAX / 2 - leader->indirect_bytes)
            leader->indirect_bytes += block.bytes;
    }
    if (spaces > 0) return true;
    block.number = *number;
    if (!HEAPPROF_MEM_GROW(&list->mem, list->blocks, list->capacity, list->count + 1)) return false;
    list->blocks[list->count++] = block;
    return true;
}

static int
compare(const void *left, const void *right)
{
    const struct memcheck_block *a = left, *b = right;

    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

bool
memcheck_block_list_read(struct memcheck_block_list *list, FILE *log)
{
    char line[LINE_MOST];
    uint32_t number = 0;
    bool room = true, at_start = true;

    *list = (struct memcheck_block_list){0};
    rb_heapprof_mem_init(&list->mem, BUDGET_BYTES);
    while (room && fgets(line, sizeof(line), log)) {
        const char *text = at_start ? content(line) : NULL;
        if (text) room = take(list, text, &number);
        at_start = strchr(line, '\n') != NULL;
    }
    if (list->count > 0) qsort(list->blocks, list->count, sizeof(*list->blocks), compare);
    return room;
}

void
memcheck_block_list_free(struct memcheck_block_list *list)
{
    HEAPPROF_MEM_RELEASE(&list->mem, list->blocks, list->capacity);
    *list = (struct memcheck_block_list){0};
}

const struct memcheck_block *
memcheck_block_list_get(const struct memcheck_block_list *list, uint32_t number, size_t *count)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->blocks[middle].number < number) low = middle + 1;
        else high = middle;
    }
    for (high = low; high < list->count && list->blocks[high].number == number; ) high++;
    *count = high - low;
    return low < list->count ? &list->blocks[low] : NULL;
}
