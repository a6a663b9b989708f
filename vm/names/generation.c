/* generation.c - the number that grows when what is known by addresses of code becomes void. */
#include "vm/names/generation.h"

uint64_t ruby_vm_code_generation;
