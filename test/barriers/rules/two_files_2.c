#include "two_files.h"

static void
mark(void *data)
{
    rb_gc_mark(((struct shared *)data)->field);
}

const rb_data_type_t shared_type = {"shared", {mark}, .flags = RUBY_TYPED_WB_PROTECTED};

void
shared_store(struct shared *shared, VALUE value)
{
    rb_gc_start();
    shared->field = value; // error field
    rb_gc_start();
}

void
shared_store_and_tell(VALUE self, struct shared *shared, VALUE value)
{
    RB_OBJ_WRITE(self, &shared->field, value);
}
