/* field_at.c - finds the field at an offset, through structs in structs and arrays. */
#include "barriers/flow/field_at.h"

#include <stdio.h>
#include <string.h>

#define PATH_BYTES 256
#define DEPTH_MOST 20 /* structs in structs */

struct wb_field_search {
    char  *text;
    size_t size, length;
};

static void search_record(struct wb_field_search *search, const struct wb_record *record,
                          int64_t offset,
                          const char *before, int depth);

static void
add_path(struct wb_field_search *search, const char *path)
{
    int added = snprintf(search->text + search->length, search->size - search->length, "%s%s",
                         search->length ? " or " : "", path);

    if (added > 0 && (size_t)added < search->size - search->length) search->length += (size_t)added;
    else search->text[search->length] = '\0';
}

/* offset: from the start of the thing. */
static void
search_type(struct wb_field_search *search, const struct wb_type *type, int64_t offset,
            const char *path,
            int depth)
{
    const struct wb_type *element = type;
    char whole[PATH_BYTES + sizeof("[-9223372036854775808]")];

    while (element->kind == WB_ARRAY) element = element->to;
    int64_t bytes = element->kind == WB_RECORD ? element->record->size : (int64_t)sizeof(uintptr_t);
    if (bytes <= 0 || (element->kind != WB_VALUE && element->kind != WB_RECORD)) return;
    if (type == element) snprintf(whole, sizeof(whole), "%s", path);
    else snprintf(whole, sizeof(whole), "%s[%lld]", path, (long long)(offset / bytes));
    if (element->kind == WB_RECORD) {
        search_record(search, element->record, offset % bytes, whole, depth + 1);
    }
    else if (offset % bytes == 0) add_path(search, whole);
}

static void
search_record(struct wb_field_search *search, const struct wb_record *record, int64_t offset,
              const char *before, int depth)
{
    char path[PATH_BYTES];

    if (depth > DEPTH_MOST) return;
    for (const struct wb_field *field = record->fields; field; field = field->next) {
        if (field->offset < 0 || offset < field->offset || offset >= field->offset + field->size) {
            continue;
        }
        snprintf(path, sizeof(path), "%s%s%s", before, *before && *field->name ? "." : "",
                 field->name);
        search_type(search, field->type, offset - field->offset, path, depth);
    }
}

/* True if the record is a member of another record that is the data. Code may use the data as
 * a union, and as each of its members. */
static bool
member_p(const struct wb_data_type *type, const struct wb_record *record)
{
    for (const struct wb_owner *owner = type->owned; owner; owner = owner->next_record) {
        if (!owner->whole) continue;
        for (const struct wb_field *field = owner->record->fields; field; field = field->next) {
            if (field->type->kind == WB_RECORD && field->type->record == record) return true;
        }
    }
    return false;
}

bool
wb_field_at(const struct wb_data_type *type, int64_t offset, char *text, size_t size)
{
    struct wb_field_search search = { .text = text, .size = size };

    *text = '\0';
    for (const struct wb_owner *owner = type->owned; owner; owner = owner->next_record) {
        if (owner->whole && !member_p(type, owner->record)) {
            search_record(&search, owner->record, offset, "", 0);
        }
    }
    return search.length > 0;
}
