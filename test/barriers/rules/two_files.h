#include <ruby.h>

struct shared {
    VALUE field;
};

extern const rb_data_type_t shared_type;

void shared_store(struct shared *shared, VALUE value);
void shared_store_and_tell(VALUE self, struct shared *shared, VALUE value);
