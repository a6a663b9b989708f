#ifndef HEAPPROF_REPORT_OWN_H
#define HEAPPROF_REPORT_OWN_H
/* Whose code a file is: the application's, a gem's, Ruby's. The path alone decides, because
 * the files may be missing where the profile is read. */
#include <stdbool.h>
#include <stddef.h>

#include "pprof/model.h"

/* Returns whether the file is the application's own. It is if it lies below one of the
 * directories (one a line), or if directories is NULL. It is not if it is in a gem or in Ruby's
 * library, even below these directories, or if it is the VM's. If directories is "", no file is. */
bool report_own_p(const char *file, const char *directories);

/* Returns whether the file is the application's by its whole path. "-e" is by no path: it does not
 * say where the application lies. */
bool report_below_p(const char *file, const char *directories);

/* Returns the directories of the application in that profile: the one where the program began.
 * Returns NULL if no function is below it, as with "ruby ../app.rb". */
const char *report_directories(const struct heapprof_model *model);

/* Returns what the file belongs to: a gem, as "rack-3.1.2", or a name in parentheses. *length is
 * the text's length. */
const char *report_gem(const char *file, const char *directories, size_t *length);

/* Returns the end of the path that is enough for a reader. Below one of the directories it is
 * "app/cart.rb". In a gem it is "rack-3.1.2/lib/rack.rb", in Ruby's library "ruby/3.4.0/set.rb".
 * Otherwise it is the whole path. directories are the application's, or NULL. */
const char *report_short_path(const char *file, const char *directories);

#endif
