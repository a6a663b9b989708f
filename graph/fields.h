#ifndef GRAPH_FIELDS_H
#define GRAPH_FIELDS_H
/* What a query may ask of an object: numbers, texts, and facts that are true or not.
 * doc/graph-query.md says what each field means. */
#include "graph/dominators.h"

enum graph_field {
    GRAPH_CLASS_FIELD,
    GRAPH_TYPE_FIELD,
    GRAPH_BYTES_FIELD,
    GRAPH_RETAINED_FIELD,
    GRAPH_LENGTH_FIELD,
    GRAPH_CAPACITY_FIELD,
    GRAPH_FILL_FIELD,
    GRAPH_UNUSED_FIELD,
    GRAPH_REFS_FIELD,
    GRAPH_AGE_FIELD,
    GRAPH_OLD_FIELD,
    GRAPH_FROZEN_FIELD,
    GRAPH_SHAREABLE_FIELD,
    GRAPH_FINALIZER_FIELD,
    GRAPH_TEXT_FIELD,
    GRAPH_FILE_FIELD,
    GRAPH_LINE_FIELD,
    GRAPH_METHOD_FIELD,
    GRAPH_FIELDS
};

enum graph_field_kind {GRAPH_FIELD_NUMBER, GRAPH_FIELD_TEXT, GRAPH_FIELD_FACT};

/* The names of all fields, with spaces between them. */
extern const char graph_field_names[];

/* The field of that name, which may be followed by other bytes; GRAPH_FIELDS if there is none. */
enum graph_field graph_field_find(const char *name, size_t length);
enum graph_field_kind graph_field_kind(enum graph_field field);

/* Set value to that field of an object. Return false if the object has no such field: only a
 * collection has a length, only a sampled object has a file. The graph was loaded with
 * GRAPH_LENGTHS. A fact has the value 1 or 0. */
bool graph_field_number(const struct graph *graph, const struct graph_dominators *dominators,
                        uint32_t object, enum graph_field field, double *value);
bool graph_field_text(const struct graph *graph, uint32_t object, enum graph_field field,
                      const char **value);

#endif
