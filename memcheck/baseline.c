/* baseline.c - reads and writes the causes that are known. The file may come from anybody. */
#include "memcheck/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "memcheck/causes.h"
#include "memcheck/report.h"

#define LINE_MOST 4096
#define LINES_MOST 100000

/* ---- reading ---- */

/* Returns NULL, or what is wrong with the line. */
static const char *
add_line(struct memcheck_baseline *baseline, const char *line)
{
    line += strspn(line, " \t\r\n");
    size_t digits = strspn(line, "0123456789abcdef");
    if (!*line || *line == '#') return NULL;
    if (digits != MEMCHECK_CAUSE_TEXT - 1 || !strchr(" \t\r\n", line[digits]))
        return "it does not begin with a number of 16 digits, as --write-baseline writes them";
    if (!HEAPPROF_ARRAY_GROW(baseline->causes, baseline->capacity, baseline->count + 1))
        return "no memory";
    baseline->causes[baseline->count++] = strtoull(line, NULL, 16);
    return NULL;
}

static int
compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static const char *
read_lines(struct memcheck_baseline *baseline, FILE *file, unsigned *number)
{
    char line[LINE_MOST];
    const char *wrong = NULL;

    for (*number = 0; !wrong && fgets(line, sizeof(line), file); ) {
        ++*number;
        if (strlen(line) == sizeof(line) - 1) wrong = "a line is too long";
        else if (*number == LINES_MOST) wrong = "too many lines";
        else wrong = add_line(baseline, line);
    }
    return wrong ? wrong : ferror(file) ? strerror(errno) : NULL;
}

bool
memcheck_baseline_read(struct memcheck_baseline *baseline, const char *path,
                       char error[MEMCHECK_BASELINE_ERROR_MAX])
{
    FILE *file = fopen(path, "r");
    unsigned number = 0;

    *baseline = (struct memcheck_baseline){0};
    if (!file) {
        snprintf(error, MEMCHECK_BASELINE_ERROR_MAX, "%s", strerror(errno));
        return false;
    }
    const char *wrong = read_lines(baseline, file, &number);
    fclose(file);
    if (baseline->count > 0)
        qsort(baseline->causes, baseline->count, sizeof(*baseline->causes), compare);
    if (wrong) snprintf(error, MEMCHECK_BASELINE_ERROR_MAX, "line %u: %s", number, wrong);
    return !wrong;
}

void
memcheck_baseline_free(struct memcheck_baseline *baseline)
{
    free(baseline->causes);
    *baseline = (struct memcheck_baseline){0};
}

bool
memcheck_baseline_has_p(const struct memcheck_baseline *baseline, uint64_t cause)
{
    return baseline->count > 0 && bsearch(&cause, baseline->causes, baseline->count,
                                          sizeof(cause), compare);
}

/* ---- writing ---- */

static int
compare_lines(const void *left, const void *right)
{
    const struct memcheck_baseline_line *a = left, *b = right;
    return compare(&a->record->cause, &b->record->cause);
}

void
memcheck_baseline_put(FILE *out, struct memcheck_baseline_line *lines, size_t count)
{
    fputs("# What heapprof memcheck --write-baseline has found. Only the numbers count.\n", out);
    if (count > 0) qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; i++) {
        const struct memcheck_record *record = lines[i].record;
        char text[MEMCHECK_CAUSE_TEXT];
        if (i > 0 && record->cause == lines[i - 1].record->cause) continue;
        memcheck_cause_text(record->cause, text);
        fprintf(out, "%s %s ", text, memcheck_kind_names[record->kind]);
        memcheck_function_put(out, lines[i].process, record);
        putc('\n', out);
    }
}
