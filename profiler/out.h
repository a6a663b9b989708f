#ifndef HEAPPROF_OUT_H
#define HEAPPROF_OUT_H
/* Templates of file names: %p (pid) %e (program) %t (time) %n (number) %%. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns whether each '%' is followed by a known letter. */
bool rb_heapprof_out_template_p(const char *text, size_t length);

/* Returns whether the template has that letter behind a '%'. */
bool rb_heapprof_out_letter_p(const char *text, char letter);

/* Writes the template with a %p to distinct: "dir/app.pb.gz" becomes "dir/app-%p.pb.gz". A template
 * that has a %p stays as it is. size is at least 4 more than the length of text. */
void rb_heapprof_out_with_pid(const char *text, char *distinct, size_t size);

/* Writes the template of a file that is written at a mark, before its suffix: with the mark "85%",
 * "dir/app-%p.pb.gz" becomes "dir/app-%p-at85-%n.pb.gz". It has a %n once.
 * Returns false if it does not fit. */
bool rb_heapprof_out_with_mark(const char *text, const char *mark, char *distinct, size_t size);

/* What the template letters stand for. */
struct heapprof_out_values {
    long        pid;
    const char *program;     /* its last path component is used */
    int64_t     time;        /* seconds since the epoch */
    unsigned    number;
};

/* Expands a template into path. Returns false if the result does not fit in size, which is at least
 * 1; path is then unspecified. An unknown letter stays as it is. */
bool rb_heapprof_out_expand(const char *template_text, const struct heapprof_out_values *values,
                            char *path, size_t size);

#endif
