/* ways.h - the ways to store a reference into an object. test/barriers/test_ways.rb has the table.
 *
 * bad_NAME stores in that way and tells no barrier, or a wrong one. good_NAME is its twin: it
 * stores the same, and is right. A function that one of them calls has its name in front. */
#include <ruby.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DEFINE(klass, way) (                                                    \
    rb_define_method(klass, "bad_" #way, RUBY_METHOD_FUNC(bad_ ## way), 1),     \
    rb_define_method(klass, "good_" #way, RUBY_METHOD_FUNC(good_ ## way), 1))

void init_containers(void);
void init_hidden(void);

#ifdef __cplusplus
}
#endif
