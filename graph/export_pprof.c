/* export_pprof.c - writes the dominator tree as call stacks.
 *
 * A pattern becomes a function, a location and, if it has objects, a sample. The number of the
 * pattern is the id of all three. */
#include "graph/export.h"

#include <stdlib.h>
#include <string.h>

#include "graph/patterns.h"
#include "graph/words.h"

#define LEAST_SHARE 1000 /* siblings that retain less than 1/1000 of all are gathered */
#define DEPTH_MOST 500 /* frames of a stack, the outermost: beyond, viewers give up */

struct making {
    const struct graph_source *source;
    struct graph_patterns patterns;
    uint32_t *depths;            /* by pattern, DEPTH_MOST at most */
    uint32_t *innermost;         /* by pattern: that of the innermost frame of its stack */
    struct heapprof_model *model;
};

static uint32_t
add_text(struct making *making, const char *text)
{
    return rb_heapprof_model_add_string(making->model, text, strlen(text));
}

static bool
add_type(struct making *making, const char *name, const char *unit)
{
    uint32_t name_string = add_text(making, name), unit_string = add_text(making, unit);
    struct heapprof_model_type *type = rb_heapprof_model_add_type(making->model);

    if (!type || name_string == HEAPPROF_NO_STRING ||
        unit_string == HEAPPROF_NO_STRING) return false;
    *type = (struct heapprof_model_type){name_string, unit_string};
    return true;
}

/* The name of a pattern's function: "Hash via @items". */
static uint32_t
add_name(struct making *making, uint32_t number)
{
    const struct graph *graph = making->source->graph;
    char *name = NULL;
    size_t size;
    FILE *out = open_memstream(&name, &size);
    uint32_t string = HEAPPROF_NO_STRING;

    if (!out) return string;
    graph_put_pattern(out, graph, &making->patterns, number);
    fputs(" via ", out);
    graph_put_pattern_label(out, graph, &making->patterns.all[number]);
    if (fclose(out) == 0) string = rb_heapprof_model_add_string(making->model, name, size);
    free(name);
    return string;
}

static bool
add_location(struct making *making, uint32_t number)
{
    struct heapprof_model *model = making->model;
    uint32_t name = add_name(making, number);
    struct heapprof_model_function *function;
    struct heapprof_model_line *line;

    if (name == HEAPPROF_NO_STRING ||
        rb_heapprof_ids_add(&model->function_ids, &model->mem, number) != HEAPPROF_IDS_ADDED ||
        !(function = rb_heapprof_model_add_function(model)) ||
        rb_heapprof_ids_add(&model->location_ids, &model->mem, number) != HEAPPROF_IDS_ADDED ||
        !rb_heapprof_model_add_location(model) ||
        !(line = rb_heapprof_model_add_line(model))) return false;
    function->name = name;
    line->function = number;
    return true;
}

static bool
add_sample(struct making *making, uint32_t number)
{
    const struct graph_pattern *all = making->patterns.all;

    if (!rb_heapprof_model_begin_sample(making->model, making->depths[number], 0)) return false;
    for (uint32_t above = making->innermost[number]; above; above = all[above].parent) {
        if (!rb_heapprof_model_add_number(making->model, above)) return false;
    }
    return rb_heapprof_model_add_number(making->model, all[number].objects) &&
           rb_heapprof_model_add_number(making->model, all[number].bytes);
}

static bool
add_all(struct making *making)
{
    const struct graph_patterns *patterns = &making->patterns;
    const char *time = graph_fact(&making->source->graph->names, "time");

    making->depths = calloc(patterns->count, sizeof(*making->depths));
    making->innermost = calloc(patterns->count, sizeof(*making->innermost));
    making->model = rb_heapprof_model_new();
    if (!making->depths || !making->innermost || !making->model ||
        add_text(making, "") == HEAPPROF_NO_STRING ||
        !add_type(making, "retained_objects", "count") ||
        !add_type(making, "retained_space", "bytes")) return false;
    for (uint32_t i = 1; i < patterns->count; i++) {
        uint32_t parent = patterns->all[i].parent;
        bool cut = making->depths[parent] == DEPTH_MOST;
        making->depths[i] = cut ? DEPTH_MOST : making->depths[parent] + 1;
        making->innermost[i] = cut ? making->innermost[parent] : i;
        if (!add_location(making, i)) return false;
    }
    for (uint32_t i = 1; i < patterns->count; i++) if (!add_sample(making, i)) return false;
    making->model->default_type = making->model->types[1].type;
    making->model->time_ns = time ? strtoll(time, NULL, 10) : 0;
    return true;
}

struct heapprof_model *
graph_model(const struct graph_source *source)
{
    struct making making = {.source = source};
    char message[256];
    uint64_t least = source->dominators->retained[0] / LEAST_SHARE;
    bool made = graph_patterns_make(&making.patterns, source->graph, source->dominator_tree) &&
                graph_patterns_gather(&making.patterns, source->graph, least) && add_all(&making) &&
                rb_heapprof_model_finish(making.model, message, sizeof(message));

    graph_patterns_free(&making.patterns);
    free(making.depths);
    free(making.innermost);
    if (made) return making.model;
    rb_heapprof_model_free(making.model);
    return NULL;
}
