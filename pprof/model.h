#ifndef HEAPPROF_MODEL_H
#define HEAPPROF_MODEL_H
/* A profile of any program, in memory: any number of kinds of values, labels, mappings, inlined
 * functions. reader.c fills a model, combine.c makes one, and all other code reads it.
 *
 * Strings are numbered from 0, which is the empty one. Functions, locations and mappings are known
 * by their places in their arrays. Samples are kept packed, about as large as in the file, and are
 * walked in their order:
 *
 *     struct heapprof_samples samples;
 *     if (!rb_heapprof_samples_begin(&samples, model)) no memory
 *     while (rb_heapprof_samples_next(&samples)) ... samples.locations[0 .. location_count) ...
 *     rb_heapprof_samples_end(&samples);
 *
 * Several threads may read a model that no thread changes. */
#include "pprof/ids.h"

#define HEAPPROF_NO_STRING UINT32_MAX

struct heapprof_model_type {
    uint32_t type, unit;          /* strings */
};

struct heapprof_model_mapping {
    uint64_t start, limit, offset;
    uint32_t filename, build_id;  /* strings */
    bool     has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

/* Its lines are [first_line, first_line of the next location): the innermost inlined one first. */
struct heapprof_model_location {
    uint64_t address;
    uint64_t mapping;             /* place; HEAPPROF_NO_PLACE: no mapping. Before finish: an id,
                                     0: no mapping */
    uint32_t first_line;          /* into lines */
    bool     folded;
};

struct heapprof_model_line {
    uint64_t function;            /* as mapping */
    int64_t  line, column;
};

struct heapprof_model_function {
    uint32_t name, system_name, filename; /* strings */
    int64_t  start_line;
};

struct heapprof_model_label {
    uint32_t key;                 /* strings; str is 0 if the label is a number */
    uint32_t str;
    int64_t  num;
    uint32_t unit;
};

struct heapprof_model {
    struct heapprof_mem mem;      /* its own account */

    char     *text;               /* the strings, each with a NUL behind it */
    size_t    text_capacity, text_bytes;
    uint32_t *string_starts;      /* by string; one more than there are */
    size_t    string_capacity;
    uint32_t  string_count;

    struct heapprof_model_type *types; /* of samples' values */
    size_t    type_capacity;
    uint32_t  type_count;

    struct heapprof_model_mapping *mappings;
    size_t    mapping_capacity;
    struct heapprof_ids mapping_ids;

    struct heapprof_model_location *locations; /* one more than there are */
    size_t    location_capacity;
    struct heapprof_ids location_ids;
    struct heapprof_model_line *lines;
    size_t    line_capacity;
    uint32_t  line_count;

    struct heapprof_model_function *functions;
    size_t    function_capacity;
    struct heapprof_ids function_ids;

    unsigned char *samples;       /* packed: model.c */
    size_t    samples_capacity, samples_bytes;
    uint64_t  sample_count;
    uint32_t  most_locations, most_labels; /* of a sample */

    uint32_t *comments;           /* strings */
    size_t    comment_capacity;
    uint32_t  comment_count;

    int64_t   time_ns, duration_ns; /* since the epoch */
    struct heapprof_model_type period_type;
    int64_t   period;
    uint32_t  default_type;       /* string: the type to show first; 0: the last */
    uint32_t  drop_frames, keep_frames, doc_url; /* strings */
};

/* The walk over the samples, and the sample where it is. */
struct heapprof_samples {
    const struct heapprof_model *model;
    size_t    at;
    uint64_t  number;             /* from 1 */
    uint32_t *locations;          /* places, innermost first */
    uint32_t  location_count;
    int64_t  *values;             /* one for each type */
    struct heapprof_model_label *labels;
    uint32_t  label_count;
};

static inline uint32_t
rb_heapprof_model_mappings(const struct heapprof_model *model)
{
    return model->mapping_ids.count;
}

static inline uint32_t
rb_heapprof_model_locations(const struct heapprof_model *model)
{
    return model->location_ids.count;
}

static inline uint32_t
rb_heapprof_model_functions(const struct heapprof_model *model)
{
    return model->function_ids.count;
}

/* A string with a NUL behind it. It may have any bytes. length may be NULL. */
const char *
rb_heapprof_model_string(const struct heapprof_model *model, uint32_t string, size_t *length);

/* Returns which type has that name. Returns type_count if no type has it. */
uint32_t rb_heapprof_model_type(const struct heapprof_model *model, const char *name);

/* Returns which value a viewer shows first. The model has at least one type. */
uint32_t rb_heapprof_model_default_type(const struct heapprof_model *model);

/* Returns the rest of the comment that begins with that text, such as "interval: ". Returns
 * NULL if no comment does. */
const char *rb_heapprof_model_comment(const struct heapprof_model *model, const char *start);

/* Begins a walk. Returns false if there is no memory. The caller calls end either way. */
bool
rb_heapprof_samples_begin(struct heapprof_samples *samples, const struct heapprof_model *model);
bool rb_heapprof_samples_next(struct heapprof_samples *samples);
void rb_heapprof_samples_end(struct heapprof_samples *samples);

/* ---- making one ---- */

/* Makes an empty model. Returns NULL if there is no memory. */
struct heapprof_model *rb_heapprof_model_new(void);
void rb_heapprof_model_free(struct heapprof_model *model); /* NULL is allowed */

/* Adds a string, even if an equal one is there. Returns its number, or HEAPPROF_NO_STRING if
 * there is no memory. The first string has to be the empty one. A string may be added in parts:
 * any number of append_text, then end_string. */
uint32_t
rb_heapprof_model_add_string(struct heapprof_model *model, const char *text, size_t length);
bool rb_heapprof_model_append_text(struct heapprof_model *model, const char *text, size_t length);
uint32_t rb_heapprof_model_end_string(struct heapprof_model *model);

/* Each adds a thing for the caller to fill in. Returns NULL if there is no memory. Lines belong
 * to the last location. The caller adds the id of a mapping, location or function to the
 * model's ids first. */
struct heapprof_model_type *rb_heapprof_model_add_type(struct heapprof_model *model);
struct heapprof_model_mapping *rb_heapprof_model_add_mapping(struct heapprof_model *model);
struct heapprof_model_location *rb_heapprof_model_add_location(struct heapprof_model *model);
struct heapprof_model_line *rb_heapprof_model_add_line(struct heapprof_model *model);
struct heapprof_model_function *rb_heapprof_model_add_function(struct heapprof_model *model);
bool rb_heapprof_model_add_comment(struct heapprof_model *model, uint32_t comment);

/* Adds a sample, which the caller packs: its counts, then that many numbers in the order of I1
 * in model.c. */
bool
rb_heapprof_model_begin_sample(struct heapprof_model *model, uint32_t locations, uint32_t labels);
bool rb_heapprof_model_add_number(struct heapprof_model *model, uint64_t number);

/* Resolves ids, and checks every reference. Returns false with one line in message that says
 * which reference leads nowhere. To be called once, when all is added. */
bool rb_heapprof_model_finish(struct heapprof_model *model, char *message, size_t message_size);

#endif
