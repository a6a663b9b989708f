/* stored.c - a list of places for each function. */
#include "barriers/flow/stored.h"

static bool
same_place_p(const struct wb_place *one, const struct wb_place *other)
{
    return one->file == other->file && one->line == other->line && one->column == other->column;
}

static bool
same_p(const struct wb_stored *one, const struct wb_stored *other)
{
    return same_place_p(&one->place, &other->place) && one->data_type == other->data_type &&
           one->record == other->record &&
           one->offset == other->offset;
}

void
wb_add_stored(struct wb_arena *arena, struct wb_function *function, const struct wb_stored *stored)
{
    unsigned count = 0;

    for (const struct wb_stored *each = function->stored; each; each = each->next, count++) {
        if (same_p(each, stored)) return;
    }
    if (count > WB_STORED_MOST) return;
    struct wb_stored *added = WB_NEW(arena, struct wb_stored);
    *added = *stored;
    if (count == WB_STORED_MOST) *added = (struct wb_stored){ .offset = -1 };
    added->next = function->stored;
    function->stored = added;
}

/* True if the store is into the same type, or into one that shares the struct. */
static bool
same_type_p(const struct wb_stored *stored, const struct wb_data_type *data_type)
{
    if (!stored->data_type || stored->data_type == data_type) return true;
    return stored->record && wb_owned_p(stored->record, data_type);
}

bool
wb_stores_besides_p(const struct wb_function *function, const struct wb_finding *finding)
{
    for (const struct wb_stored *each = function->stored; each; each = each->next) {
        bool apart = each->offset >= 0 && finding->offset >= 0 &&
                     (each->offset >= finding->offset + finding->size ||
                      finding->offset >= each->offset + each->size);
        if (!apart && same_type_p(each, finding->data_type) &&
            !same_place_p(&each->place, &finding->place)) {
            return true;
        }
    }
    return false;
}
