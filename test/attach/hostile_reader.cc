// hostile_reader.cc - reads a running Ruby through glasses that change what is read: any bits, at
// any moment.
//
//   hostile_reader PID SECONDS SEED
//
// Built with AddressSanitizer and run by test/attach/test_hostile.rb. Whatever the target's memory
// says, a look, with C functions or without, and a heap profile end, within bounds, with a result
// or an error.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

extern "C" {
#include "attach/heap.h"
#include "attach/look.h"
#include "profiler/pprof.h"
}

namespace {

bool (*read_truly)(attach_target *, const attach_range *, size_t);
bool (*registers_truly)(attach_target *, pid_t, void *, size_t);
std::mt19937_64 bits;
uint64_t one_in = 0; // ranges; 0: none is changed
uint64_t rate = 0;
uint64_t changed = 0;
size_t most_bytes = SIZE_MAX; // of a range that may be changed

// A bit, a byte, a word, or all of it.
void
Change(unsigned char *bytes, size_t size)
{
    size_t at = bits() % size;

    switch (bits() % 4) {
      case 0: bytes[at] ^= static_cast<unsigned char>(1u << bits() % 8); break;
      case 1: bytes[at] = static_cast<unsigned char>(bits()); break;
      case 2:
          for (size_t i = at & ~size_t { 7 }; i < size && i < (at & ~size_t { 7 }) + 8; i++)
              bytes[i] = static_cast<unsigned char>(bits());
          break;
      default:
          for (size_t i = 0; i < size; i++)
              bytes[i] = bits() % 2 ? 0xff : static_cast<unsigned char>(bits());
    }
    changed++;
}

bool
ReadFalsely(attach_target *target, const attach_range *ranges, size_t count)
{
    if (!read_truly(target, ranges, count)) return false;
    for (size_t i = 0; i < count; i++) {
        if (one_in && ranges[i].bytes && ranges[i].bytes <= most_bytes && bits() % one_in == 0) {
            Change(static_cast<unsigned char *>(ranges[i].to), ranges[i].bytes);
        }
    }
    return true;
}

// As of a core file.
bool
RegistersFalsely(attach_target *target, pid_t tid, void *words, size_t bytes)
{
    if (!registers_truly(target, tid, words, bytes)) return false;
    if (one_in && bits() % one_in == 0) Change(static_cast<unsigned char *>(words), bytes);
    return true;
}

// In every other round what the target says of its structures is right, and only what they hold is
// not.
void
BeginToOpen()
{
    static const uint64_t kOneIn[] = {2, 5, 20, 100, 1000};
    rate = kOneIn[bits() % 5];
    one_in = bits() % 2 ? rate : 0;
}

struct Counts {
    int looks = 0, seen = 0, profiles = 0, taken = 0;
};

// Every label of every stack, as those do that show them.
void
ReadLabels(const attach_looks *looks)
{
    for (size_t i = 0; i < looks->stack_count; i++) {
        size_t length;
        heapprof_label label;
        const char *at =
            attach_label_sets_text(&looks->label_sets, looks->stacks[i].label_set, &length);
        for (const char *end = at + length; rb_heapprof_label_next(&at, end, &label);) {
            if (label.key_length == 0 || label.key_length >= HEAPPROF_LABEL_KEY_BYTES ||
                label.value_length > HEAPPROF_LABEL_VALUE_BYTES)
                abort();
        }
    }
}

void
Look(attach_target *target, Counts *counts)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    heapprof_mem mem;
    attach_names names;

    rb_heapprof_mem_init(&mem, size_t{1} << 28);
    attach_names_init(&names, &mem);
    BeginToOpen();
    // Threads that stand still have registers, local variables and machine stacks.
    attach_look_mode mode = bits() % 2 ? ATTACH_LOOK_AUTO : ATTACH_LOOK_NEVER;
    attach_looks *looks = attach_look_open(target, &names, mode, error);
    bool native = mode == ATTACH_LOOK_AUTO && bits() % 2;
    if (looks && native && !attach_look_native(looks, ATTACH_NATIVE_ALL)) abort();
    one_in = rate;
    for (int i = 0; looks && i < 20; i++) {
        looks->with_fibers = i == 0;
        looks->locals.wanted = looks->locals.with_values = i % 4 == 3;
        counts->looks++;
        counts->seen += attach_look(looks);
        ReadLabels(looks);
    }
    attach_look_close(looks);
    attach_names_free(&names);
}

void
TakeHeap(attach_target *target, Counts *counts)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    BeginToOpen();
    attach_vm *vm = attach_vm_open(target, error);
    one_in = rate;
    most_bytes =
        bits() % 2
            ? 64
            : SIZE_MAX; // the tables stay as they are, and what is entered into them does not
    attach_heap_counts heap = {};
    size_t size;

    if (!vm) {
        most_bytes = SIZE_MAX;
        return;
    }
    counts->profiles++;
    heapprof_snapshot *snapshot = attach_heap_read(vm, nullptr, &heap, error);
    if (snapshot) {
        counts->taken++;
        free(rb_heapprof_pprof_encode(snapshot, "ruby", "", &size));
    }
    rb_heapprof_snapshot_free(snapshot);
    attach_vm_close(vm);
    most_bytes = SIZE_MAX;
}

} // namespace

int
main(int argc, char **argv)
{
    char error[ATTACH_TARGET_ERROR_MAX];
    Counts counts;

    if (argc != 4) return 2;
    attach_target *target = attach_target_open_pid(atol(argv[1]), error);
    if (!target) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    attach_target_kind kind = *target->kind;
    read_truly = kind.read;
    kind.read = ReadFalsely;
    registers_truly = kind.registers;
    kind.registers = RegistersFalsely;
    target->kind = &kind;
    bits.seed(static_cast<uint64_t>(atol(argv[3])));
    for (time_t ends = time(nullptr) + atol(argv[2]); time(nullptr) < ends;) {
        Look(target, &counts);
        TakeHeap(target, &counts);
    }
    attach_target_close(target);
    printf("%d looks, %d seen; %d profiles, %d taken; %llu ranges changed\n", counts.looks,
           counts.seen, counts.profiles, counts.taken, static_cast<unsigned long long>(changed));
    return 0;
}
