#ifndef HEAPPROF_REPORT_NAMES_H
#define HEAPPROF_REPORT_NAMES_H
/* The frames and labels of a sample, by the names that a reader knows. */
#include <stdbool.h>
#include <stdint.h>

#include "pprof/model.h"

struct report_frame {
    const char *name, *file;  /* "" if not known */
    int64_t  line;            /* 0: not known */
    uint64_t address;         /* of a frame that has no name */
    bool native; /* a C function: file and line are those of the Ruby code that called it */
};

/* A frame is the number of a line of the model; or, with this bit, of a location that has no
 * line. */
#define REPORT_NO_LINE (UINT64_C(1) << 63)

/* Calls the statement for each frame of a sample, innermost first. */
#define REPORT_EACH_FRAME(samples, frame, statement) \
    for (uint32_t i_ = 0; i_ < (samples)->location_count; i_++) { \
        const struct heapprof_model_location *location_ = \
            &(samples)->model->locations[(samples)->locations[i_]]; \
        uint64_t frame = REPORT_NO_LINE | (samples)->locations[i_]; \
        if (location_->first_line == location_[1].first_line) { statement; } \
        for (frame = location_->first_line; frame < location_[1].first_line; frame++) { \
            statement; \
        } \
    }

/* Returns whether the profile says where functions are defined. Then a function without a
 * definition is a C function. */
bool report_definitions_p(const struct heapprof_model *model);

/* Returns whether the function is a C function, if the profile says where functions are defined. */
bool
report_native_p(const struct heapprof_model *model, const struct heapprof_model_function *function);

/* Returns what the frame is called. defined is what report_definitions_p has returned.
 * directories are the application's (own.h), or NULL. */
struct report_frame report_frame_of(const struct heapprof_model *model, uint64_t frame,
                                    bool defined, const char *directories);

/* Returns the name of a function as a reader knows it: of the method that a template was compiled
 * to, the template's file. The method's own name has numbers in it that each process makes anew.
 * The application's directories are those that the profile names. */
const char *
report_function_name(const char *name, const char *file, const struct heapprof_model *model);

/* Returns the label of that key, or NULL if the sample has none. */
const struct heapprof_model_label *
report_find_label(const struct heapprof_samples *samples, const char *key);

#define REPORT_LABEL_MAX 640

/* Returns the label's value as text: itself, or made in the buffer. A caller is called as
 * report_caller_name says. */
const char *
report_label_text(const struct heapprof_model *model, const struct heapprof_model_label *label,
                  char buffer[REPORT_LABEL_MAX]);

/* Returns a caller, such as "str_enc_new (ruby)", with the names of Rust as they were written.
 * What is Rust in ruby is YJIT: "YJIT (ruby)". The text is the caller itself, or made in the
 * buffer. */
const char *report_caller_name(const char *caller, char *buffer, size_t size);

/* Returns the library of a caller, "libxml2.so.2" of "xmlMalloc (libxml2.so.2)", and sets its
 * length. Returns NULL if the caller names none. */
const char *report_caller_library(const char *caller, size_t *length);

/* Returns the table of the VM that the sample's memory is of, "[VM] symbols", or NULL. Such a
 * table is as large as all code together has made it. It is charged to no stack: the stack is
 * that of the code that happened to fill it. */
const char *report_vm_table(const struct heapprof_samples *samples);

#endif
