/* generation.c - the number that grows when code known by its address may be another. */
#include "vm/names/generation.h"

uint64_t ruby_vm_code_generation;
