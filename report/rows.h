#ifndef HEAPPROF_REPORT_ROWS_H
#define HEAPPROF_REPORT_ROWS_H
/* What a row stands for. */
#include "report/groups.h"

/* For REPORT_APP: returns whether this is the row of the stacks without a line of the
 * application. */
bool report_row_of_others_p(const struct report_groups *groups, uint32_t row);

/* Returns the row's title in a block from malloc: "String", "Cart#load  app/cart.rb",
 * "app/cart.rb:7:in 'Cart#load'". Returns NULL if there is no memory. */
char *report_row_title(const struct report_groups *groups, uint32_t row);

/* Returns the directory of the application that the row's example is from, or NULL if it is not
 * known. */
const char *report_row_directory(const struct report_groups *groups, uint32_t row);

/* For a call site: calls back for each frame, the innermost first. own says whether the frame is
 * the application's. A table of the VM has no frames. Returns false if there is no memory. */
typedef void report_frame_i(void *data, const struct report_frame *frame, bool own);
bool report_row_frames(const struct report_groups *groups, uint32_t row, report_frame_i *each,
                       void *data);

/* Calls back for the frames of a call site that are shown, with the frame as text: the innermost
 * ones, which are near, and the first of the application further out. */
typedef void report_shown_frame_i(void *data, const char *text, bool near);
bool report_row_shown_frames(const struct report_groups *groups, uint32_t row,
                             report_shown_frame_i *each, void *data);

/* Where a row is. */
struct report_place {
    const char *file;     /* below the directory of the application if it is the application's */
    int64_t     line;     /* 0: the row is a file */
    const char *function; /* "" if not known */
    bool        own;      /* the application's */
};

/* Finds where the row is: of a call site, its innermost frame of the application, or its innermost
 * frame if it has none. Returns false if the row is not at one place, as a class. */
bool report_row_place(const struct report_groups *groups, uint32_t row, struct report_place *place);

/* Returns in a block from malloc, in a line, why there are no samples: none has a frame that
 * matches the pattern, or none has the label. Returns "" if there are samples, or none were asked
 * for. Returns NULL if there is no memory. */
char *report_why_empty(const struct report_groups *groups);

#endif
