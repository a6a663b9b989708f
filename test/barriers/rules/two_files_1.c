#include "two_files.h"

VALUE
uses_both(VALUE self, VALUE value)
{
    struct shared *shared = rb_check_typeddata(self, &shared_type);

    shared_store(shared, value);
    shared_store_and_tell(self, shared, value);
    shared->field = value;
    shared_store_and_tell(self, shared, value);
    return value;
}
