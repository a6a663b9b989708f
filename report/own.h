#ifndef HEAPPROF_REPORT_OWN_H
#define HEAPPROF_REPORT_OWN_H
/* Whose code a file is: the application's, a gem's, Ruby's. Decided by the path alone, for the files need
 * not be where the profile is read. */
#include <stdbool.h>
#include <stddef.h>

/* Whether it is the application's own: below one of directories, which are lines, or anywhere if that is NULL;
 * but not in a gem or in Ruby's library that lies below there, too, nor the VM's. "": nothing is. */
bool report_own_p(const char *file, const char *directories);

/* What it belongs to: "rack-3.1.2", in text and its length; or a name in parentheses. */
const char *report_gem(const char *file, const char *directories, size_t *length);

/* The end of the path that says enough: below directory, "app/cart.rb"; of a gem, "rack-3.1.2/lib/rack.rb";
 * otherwise all. directories: those of the application, or NULL. */
const char *report_short_path(const char *file, const char *directories);

#endif
