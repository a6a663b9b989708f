#ifndef GRAPH_TERMS_H
#define GRAPH_TERMS_H
/* Classes in the words of a sentence. Objects that the VM makes for itself have no class, only
 * MRI's name of their type, which says nothing to most people: T_IMEMO(iseq) is compiled code. */
#include <stdint.h>
#include <stdio.h>

/* One object of the class or type: "Hash", "compiled code". NULL if people know it by its name. */
const char *graph_term(const char *class_name);

/* "9,000 Strings", "1 Hash", "1,950 pieces of compiled code"; with the adjective "new ": "9,000 new
 * Strings". The name of a class stays whole, so that one can search for it: "3 Redis objects". */
void graph_put_counted(FILE *out, uint64_t count, const char *adjective, const char *class_name);

/* The same without a number: "Strings", "pieces of compiled code". */
void graph_put_plural(FILE *out, const char *class_name);

#endif
