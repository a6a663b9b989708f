// native_exceptions.cc - C++ exceptions: caught, and on their way.
#include "native.h"

namespace {

__attribute__((noinline)) void Throw(int value) {
    if (value >= 0) throw value;
    native_after++;
}

struct Parks {
    __attribute__((noinline)) ~Parks() {
        native_park();
        native_after++;
    }
};

} // namespace

extern "C" __attribute__((noinline)) void native_catch_and_park(void) {
    try {
        Throw(native_after);
    } catch (int) {
        native_park();
        native_after++;
    }
}

extern "C" void native_catch(void) {
    native_catch_and_park();
    native_after++;
}

extern "C" __attribute__((noinline)) void native_throw_through(void) {
    Parks parks;
    Throw(native_after);
    native_after++;
}

extern "C" void native_unwind(void) {
    try {
        native_throw_through();
    } catch (int) {
        native_after++;
    }
}
