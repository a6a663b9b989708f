/* point.c - adds up one file by what fills memory.
 *
 *     slots, malloc                 what samples say of them, in proportion: strings, objects, C's
 *     malloc that is in no sample   C's
 *     free slots, slack, overhead   freed, and not given back
 *     stacks, code, files ...       rest
 *
 * Samples are estimates of what was requested, rungs are what is in memory, to the byte. So a
 * sample only decides whose a part of a rung is. Any program may have written the file: a value
 * below 0 counts as 0. */
#include "cli/postmortem/point.h"

#include <stdlib.h>
#include <string.h>

#include "base/version.h"

/* What a walk over the samples adds up. */
struct sums {
    double slots[2], blocks[3];            /* by STRINGS, OBJECTS, MALLOC */
    double rung_slots, rung_malloc, freed, unexplained, rss;
    double *callers;                       /* of MALLOC, by the caller's string */
};

/* The string of a label; 0 if there is none. */
static uint32_t
label_string(const struct heapprof_samples *samples, const char *key)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        const struct heapprof_model_label *label = &samples->labels[i];
        if (label->str && !strcmp(rb_heapprof_model_string(samples->model, label->key, NULL), key))
            return label->str;
    }
    return 0;
}

static const char *
label(const struct heapprof_samples *samples, const char *key)
{
    return rb_heapprof_model_string(samples->model, label_string(samples, key), NULL);
}

static const char *
innermost(const struct heapprof_samples *samples)
{
    const struct heapprof_model *model = samples->model;

    if (samples->location_count == 0) return "";
    const struct heapprof_model_location *location = &model->locations[samples->locations[0]];
    if (location[0].first_line == location[1].first_line) return "";
    uint64_t function = model->lines[location->first_line].function;
    return function == HEAPPROF_NO_PLACE
               ? ""
               : rb_heapprof_model_string(model, model->functions[function].name, NULL);
}

static bool
begins_p(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool
any_p(const char *text, const char *const *all)
{
    for (; *all; all++) {
        if (!strcmp(text, *all)) return true;
    }
    return false;
}

static void
add_rung(struct sums *sums, const char *name, double bytes)
{
    static const char vm[] = "[VM] ";
    static const char *const freed[] = { "free slots", "allocator slack", "page overhead", NULL };

    if (begins_p(name, vm)) name += sizeof(vm) - 1;
    sums->rss += bytes;
    if (!strcmp(name, "slots")) sums->rung_slots += bytes;
    else if (!strcmp(name, "malloc")) sums->rung_malloc += bytes;
    else if (!strcmp(name, "unexplained")) sums->unexplained += bytes;
    else if (any_p(name, freed)) sums->freed += bytes;
}

/* Whose a block is. If its owner is not known, the C function that has requested it tells. */
static enum cli_point_kind
kind_of_block(const struct heapprof_samples *samples)
{
    const char *owner = label(samples, "owner"), *caller = label(samples, "caller");

    if (!strcmp(owner, "String")) return CLI_POINT_STRINGS;
    if (*owner) return CLI_POINT_OBJECTS;
    if (begins_p(caller, "rb_str") || begins_p(caller, "str_")) return CLI_POINT_STRINGS;
    size_t length = strlen(caller);
    if (length > 6 && !strcmp(caller + length - 6, "(ruby)")) return CLI_POINT_OBJECTS;
    return strstr(caller, "(libruby") ? CLI_POINT_OBJECTS : CLI_POINT_MALLOC;
}

static double
value(const struct heapprof_samples *samples, uint32_t type)
{
    int64_t number = type < samples->model->type_count ? samples->values[type] : 0;

    return number > 0 ? (double)number : 0;
}

static bool
add_up(struct sums *sums, const struct heapprof_model *model)
{
    uint32_t rss = rb_heapprof_model_type(model, "rss_space");
    uint32_t slots = rb_heapprof_model_type(model, "inuse_slot_space");
    uint32_t blocks = rb_heapprof_model_type(model, "inuse_malloc_space");
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    while (room && rb_heapprof_samples_next(&samples)) {
        if (value(&samples, rss) > 0)
            add_rung(sums, innermost(&samples), value(&samples, rss));
        if (value(&samples, slots) > 0)
            sums->slots[strcmp(label(&samples, "class"), "String") ? CLI_POINT_OBJECTS
                                                                   : CLI_POINT_STRINGS] +=
                value(&samples, slots);
        if (value(&samples, blocks) > 0) {
            enum cli_point_kind kind = kind_of_block(&samples);
            sums->blocks[kind] += value(&samples, blocks);
            if (kind == CLI_POINT_MALLOC)
                sums->callers[label_string(&samples, "caller")] += value(&samples, blocks);
        }
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

/* Shares a rung out, as the samples say; what they do not explain is *rest's. */
static void
share_out(double rung, const double *parts, size_t count, double *kinds, double *rest)
{
    double sum = 0, scale;

    for (size_t i = 0; i < count; i++) sum += parts[i];
    scale = sum > rung && sum > 0 ? rung / sum : 1;
    for (size_t i = 0; i < count; i++) kinds[i] += parts[i] * scale;
    *rest += rung - sum * scale;
}

static uint64_t
number(const struct heapprof_model *model, const char *start)
{
    const char *text = rb_heapprof_model_comment(model, start);

    return text ? strtoull(text, NULL, 10) : 0;
}

static void
read_comments(struct cli_point *point, const struct heapprof_model *model)
{
    static const char max[] = ", max ", of[] = " of ", bytes[] = " bytes, ";
    const char *limit = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_LIMIT);
    const char *reached = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_REACHED);
    const char *at;

    point->pid = number(model, "pid: ");
    point->mark = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_MARK);
    point->largest = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_LARGEST);
    point->copied = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_COPY);
    point->kinds[CLI_POINT_OTHERS] = (double)number(model, HEAPPROF_COMMENT_OTHERS);
    point->limit_name = "";
    if (limit && (at = strstr(limit, of))) {
        point->used = (double)strtoull(limit, NULL, 10);
        point->limit = (double)strtoull(at + sizeof(of) - 1, NULL, 10);
        if ((at = strstr(at, bytes))) point->limit_name = at + sizeof(bytes) - 1;
    }
    if (reached && (at = strstr(reached, max)))
        point->reached = strtoull(at + sizeof(max) - 1, NULL, 10);
    if (point->resident == 0) point->resident = (double)number(model, HEAPPROF_COMMENT_RESIDENT);
}

static void
find_caller(struct cli_point *point, const double *callers)
{
    uint32_t largest = 0;

    for (uint32_t i = 1; i < point->model->string_count; i++) {
        if (callers[i] > callers[largest] || largest == 0) largest = i;
    }
    if (largest == 0 || callers[largest] == 0) return;
    point->caller = rb_heapprof_model_string(point->model, largest, NULL);
    point->caller_bytes = callers[largest];
}

bool
cli_point_read(struct cli_point *point, const struct heapprof_model *model)
{
    struct sums sums = {0};
    double *kinds = point->kinds, known = 0;

    *point = (struct cli_point){ .model = model };
    sums.callers = calloc((size_t)model->string_count + 1, sizeof(*sums.callers));
    bool room = sums.callers && add_up(&sums, model);
    if (room) find_caller(point, sums.callers);
    free(sums.callers);
    if (!room) return false;
    if (sums.rss == 0) sums.rung_slots = sums.slots[0] + sums.slots[1];
    if (sums.rss == 0)
        for (int i = 0; i < 3; i++) sums.rung_malloc += sums.blocks[i];
    share_out(sums.rung_slots, sums.slots, 2, kinds, &kinds[CLI_POINT_OBJECTS]);
    share_out(sums.rung_malloc, sums.blocks, 3, kinds, &kinds[CLI_POINT_MALLOC]);
    kinds[CLI_POINT_FREED] = sums.freed;
    for (int i = 0; i < CLI_POINT_REST; i++) known += kinds[i];
    kinds[CLI_POINT_REST] = sums.rss > known ? sums.rss - known : 0;
    point->resident = sums.rss;
    point->unexplained = sums.unexplained;
    read_comments(point, model);
    return true;
}
