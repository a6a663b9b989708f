#ifndef HEAPPROF_REPORT_SCAN_H
#define HEAPPROF_REPORT_SCAN_H
/* A profile that is being added to groups: which of its samples are wanted (scan_marks.c), what a
 * reader sees of them, as digests (scan_digests.c), and the row that each belongs to
 * (scan_rows.c). */
#include "report/estimate.h"
#include "report/groups.h"

/* Marks of a function, or of a label's text. */
enum {
    REPORT_FOCUS = 1,
    REPORT_IGNORE = 2,
    REPORT_OWN = 4,
    REPORT_SEEN = 8,
    REPORT_LOADS = 16,  /* it loads a file: require and its like */
    REPORT_LABELS = 32  /* it is HeapProfile.label */
};

/* One profile that is being added. */
struct report_scan {
    struct report_groups *groups;
    const struct heapprof_model *model;
    uint32_t profile, column;
    const char *directory;
    bool defined;                      /* the profile says where functions are defined */
    struct heapprof_digest *lines;     /* by line, if the group is SITE; otherwise NULL */
    uint32_t *rows;                    /* by line, if figures are cumulative; 0: not known yet */
    unsigned char *marks;              /* by place */
    unsigned char *text_marks;         /* by string, of labels; NULL: no pattern was given */
    struct report_estimate estimate;
    double kept_age; /* from that age on, the profile that this one is compared with has a sample,
                        too; 0: all are in both; INFINITY: not known */
};

static inline struct report_frame
report_scan_frame(const struct report_scan *scan, uint64_t frame)
{
    return report_frame_of(scan->model, frame, scan->defined, scan->directory);
}

static inline unsigned
report_scan_marks(const struct report_scan *scan, uint64_t frame)
{
    uint64_t function =
        frame & REPORT_NO_LINE ? HEAPPROF_NO_PLACE : scan->model->lines[frame].function;

    return function == HEAPPROF_NO_PLACE ? 0 : scan->marks[function];
}

/* ---- scan_marks.c ---- */

/* Looks at all functions. Returns false if there is no memory. */
bool report_scan_functions(struct report_scan *scan);

/* Returns whether the sample is one that the question wants. vm is its table of the VM, or NULL. */
bool report_scan_wanted_p(const struct report_scan *scan, const struct heapprof_samples *samples,
                          const char *vm);

/* Returns whether a file was being loaded in a block of HeapProfile.label: what that allocates is
 * not the endpoint's that happened to come first. */
bool report_scan_loading_p(const struct report_scan *scan, const struct heapprof_samples *samples);

/* ---- scan_digests.c: digests of what a reader sees ---- */

struct heapprof_digest report_digest_text(const char *text, size_t length);
struct heapprof_digest report_digest_unnamed(void);
struct heapprof_digest report_digest_label(const struct heapprof_samples *samples, const char *key);

/* Of a frame: its line and function; or what the group of the question has of it. */
struct heapprof_digest report_digest_frame(const struct report_scan *scan, uint64_t line);
struct heapprof_digest report_digest_in(const struct report_scan *scan, uint64_t frame);

/* Of the frames that are shown of a call site, and its title. */
struct heapprof_digest report_digest_site(const struct report_scan *scan,
                                          const struct heapprof_samples *samples);

/* ---- scan_rows.c ---- */

/* Returns the row of the sample at that place, which has that value. vm is the table of the VM
 * that it is of, or NULL. Returns 0 if there is no memory. */
uint32_t report_scan_row(struct report_scan *scan, const struct heapprof_samples *samples,
                         uint64_t at, double value, const char *vm);

/* Adds a value to the row, if the sample has not been added to it. */
void report_scan_add_once(const struct report_scan *scan, uint32_t row, double value);

/* Adds a sample to the rows of all its frames, once to each row. Returns false if there is no
 * memory. */
bool report_scan_cumulative(struct report_scan *scan, const struct heapprof_samples *samples,
                            double value);

#endif
