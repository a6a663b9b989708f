/* options.c - RUBY_HEAPPROF read into settings, and out templates into file names.
 *
 * text is cut at commas, each part at its first '='. The key picks a row of keys[];
 * the row's function reads the value and says what it thinks of it:
 *
 *     "interval=64k,out=a=b.gz"
 *      ^key     ^value  ^key ^value (an '=' in a value is part of it)
 *
 *   I1  a later setting of a key replaces an earlier one.
 *   I2  every key is one row, and KNOWN_KEYS below names them all: what is accepted
 *       and what messages say cannot differ. Ranges hold for options that did not
 *       come from text, too.
 *   I3  a message is one line, whatever the environment holds: control characters
 *       become '?', and of a long value only the beginning is quoted.
 *
 * Pure: no allocation, no locale, no environment. May run anywhere.
 */
#include "profiler/options.h"
#include "os/interpose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define QUOTED_MAX 64 /* characters of a value that a message repeats */

enum verdict { READ, MALFORMED, OUT_OF_RANGE };

/* A piece of the text; not NUL-terminated. */
struct piece {
    const char *start;
    size_t length;
};

struct key {
    const char *name;
    enum verdict (*read)(struct heapprof_options *options, struct piece value);
    const char *accepted; /* what a well-formed value is */
    bool (*fits_p)(const struct heapprof_options *options); /* NULL: read has seen to it */
    const char *range;    /* which well-formed ones are taken */
};

void
rb_heapprof_options_default(struct heapprof_options *options)
{
    memset(options, 0, sizeof(*options));
    options->interval_bytes = 512 * 1024;
    options->malloc_interval_bytes = HEAPPROF_AS_INTERVAL;
    options->depth = 512;
    options->memory_bytes = UINT64_C(64) << 20;
    options->gc = true;
    options->owners = true;
    options->rss = true;
    strcpy(options->out, "heapprof-%p.pb.gz");
}

/* ---- values ---- */

/* Digits only, at least one. */
static enum verdict
read_number(struct piece value, uint64_t *number)
{
    enum verdict verdict = value.length ? READ : MALFORMED;
    size_t i;

    *number = 0;
    for (i = 0; i < value.length; i++) {
        unsigned digit = (unsigned)(value.start[i] - '0');
        if (digit > 9) return MALFORMED;
        if (*number > (UINT64_MAX - digit) / 10) verdict = OUT_OF_RANGE;
        *number = *number * 10 + digit;
    }
    return verdict;
}

static int
suffix_shift(char suffix)
{
    switch (suffix) {
      case 'k': return 10;
      case 'm': return 20;
      case 'g': return 30;
      default:  return 0;
    }
}

static enum verdict
read_bytes(struct piece value, uint64_t *bytes)
{
    int shift = value.length ? suffix_shift(value.start[value.length - 1]) : 0;
    enum verdict verdict;

    if (shift) value.length--;
    verdict = read_number(value, bytes);
    if (verdict == READ && *bytes > UINT64_MAX >> shift) return OUT_OF_RANGE;
    *bytes <<= shift;
    return verdict;
}

static enum verdict
read_interval(struct heapprof_options *options, struct piece value)
{
    return read_bytes(value, &options->interval_bytes);
}

static enum verdict
read_malloc_interval(struct heapprof_options *options, struct piece value)
{
    enum verdict verdict = read_bytes(value, &options->malloc_interval_bytes);

    if (verdict == READ && options->malloc_interval_bytes == HEAPPROF_AS_INTERVAL) return OUT_OF_RANGE;
    return verdict;
}

static bool
reads_p(struct piece value, const char *word)
{
    return strlen(word) == value.length && memcmp(word, value.start, value.length) == 0;
}

static enum verdict
read_malloc(struct heapprof_options *options, struct piece value)
{
    options->malloc_all = reads_p(value, "all");
    return options->malloc_all || reads_p(value, "ruby") ? READ : MALFORMED;
}

static enum verdict
read_out(struct heapprof_options *options, struct piece value)
{
    if (value.length == 0) return MALFORMED;
    if (value.length >= sizeof(options->out)) return OUT_OF_RANGE;
    memcpy(options->out, value.start, value.length);
    options->out[value.length] = '\0';
    return READ;
}

static enum verdict
read_depth(struct heapprof_options *options, struct piece value)
{
    uint64_t depth;
    enum verdict verdict = read_number(value, &depth);

    options->depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
    return verdict;
}

static enum verdict
read_memory(struct heapprof_options *options, struct piece value)
{
    return read_bytes(value, &options->memory_bytes);
}

static enum verdict
read_seed(struct heapprof_options *options, struct piece value)
{
    options->seeded = true;
    return read_number(value, &options->seed);
}

static enum verdict
read_switch(struct piece value, bool *on)
{
    uint64_t number;
    enum verdict verdict = read_number(value, &number);

    *on = number == 1;
    return verdict == READ && number > 1 ? OUT_OF_RANGE : verdict;
}

static enum verdict
read_gc(struct heapprof_options *options, struct piece value)
{
    return read_switch(value, &options->gc);
}

static enum verdict
read_owners(struct heapprof_options *options, struct piece value)
{
    return read_switch(value, &options->owners);
}

static enum verdict
read_rss(struct heapprof_options *options, struct piece value)
{
    return read_switch(value, &options->rss);
}

/* ---- ranges ---- */

static bool
interval_fits_p(const struct heapprof_options *options)
{
    return options->interval_bytes >= 1 && options->interval_bytes <= UINT64_C(1) << 40;
}

static bool
malloc_interval_fits_p(const struct heapprof_options *options)
{
    return rb_heapprof_options_malloc_interval(options) <= UINT64_C(1) << 40;
}

static bool
malloc_fits_p(const struct heapprof_options *options)
{
    return HEAPPROF_CAN_INTERPOSE || !options->malloc_all;
}

static bool
depth_fits_p(const struct heapprof_options *options)
{
    return options->depth >= 1 && options->depth <= 65535;
}

static bool
memory_fits_p(const struct heapprof_options *options)
{
    return options->memory_bytes >= 1 << 20 && options->memory_bytes <= SIZE_MAX;
}

static const struct key keys[] = {
    {"interval", read_interval, "bytes between samples, such as 4096, 512k or 1m",
     interval_fits_p, "1 to 1099511627776 bytes"},
    {"malloc_interval", read_malloc_interval, "bytes of malloc between samples, such as 4096, 512k or 0",
     malloc_interval_fits_p, "0 to 1099511627776 bytes"},
    {"malloc", read_malloc, "ruby (what asks MRI's allocator) or all (extensions and libraries, too)",
     malloc_fits_p, "ruby (all needs Linux with glibc on x86-64 or AArch64)"},
    {"out", read_out, "a file name, such as heapprof-%p.pb.gz",
     NULL, "at most 4095 characters"},
    {"depth", read_depth, "frames per stack, such as 512",
     depth_fits_p, "1 to 65535 frames"},
    {"memory", read_memory, "bytes for the profiler's own tables, such as 64m",
     memory_fits_p, "at least 1048576 bytes"},
    {"seed", read_seed, "a number, such as 42: equal seeds sample equally",
     NULL, "0 to 18446744073709551615"},
    {"gc", read_gc, "1 (a full GC before a file is written) or 0",
     NULL, "1 or 0"},
    {"owners", read_owners, "1 (find who holds malloc'ed memory before a file is written) or 0",
     NULL, "1 or 0"},
    {"rss", read_rss, "1 (a file has the rest of the resident memory, too) or 0",
     NULL, "1 or 0"},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))
#define KNOWN_KEYS "known keys are interval, malloc_interval, malloc, out, depth, memory, seed, gc, owners, rss"

const char *
rb_heapprof_options_out_of_range(const struct heapprof_options *options, const char **expected)
{
    size_t i;

    for (i = 0; i < KEY_COUNT; i++) {
        if (!keys[i].fits_p || keys[i].fits_p(options)) continue;
        *expected = keys[i].range;
        return keys[i].name;
    }
    return NULL;
}

/* ---- text ---- */

/* Where a complaint goes. */
struct message {
    char *text;
    size_t size;
};

static enum heapprof_options_result
complain(struct message message, struct piece setting, const char *lead, const char *accepted)
{
    bool cut_p = setting.length > QUOTED_MAX;
    char *c;

    if (message.size == 0) return HEAPPROF_OPTIONS_BAD;
    snprintf(message.text, message.size, "%.*s%s: %s%s", cut_p ? QUOTED_MAX : (int)setting.length,
             setting.start, cut_p ? "..." : "", lead, accepted);
    for (c = message.text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    }
    return HEAPPROF_OPTIONS_BAD;
}

static const struct key *
find_key(struct piece name)
{
    size_t i;

    for (i = 0; i < KEY_COUNT; i++) {
        if (strlen(keys[i].name) == name.length &&
            memcmp(keys[i].name, name.start, name.length) == 0) return &keys[i];
    }
    return NULL;
}

static enum heapprof_options_result
read_setting(struct heapprof_options *options, struct piece setting, struct message message)
{
    static const struct piece nothing = {"(nothing)", 9};
    const char *equals = memchr(setting.start, '=', setting.length);
    struct piece name = {setting.start, 0};
    struct piece value;
    const struct key *key;
    const char *expected;
    enum verdict verdict;

    if (!equals) {
        return complain(message, setting.length ? setting : nothing,
                        "expected 1, 0 or key=value; ", KNOWN_KEYS);
    }
    name.length = (size_t)(equals - setting.start);
    value.start = equals + 1;
    value.length = setting.length - name.length - 1;
    key = find_key(name);
    if (!key) return complain(message, setting, "no such key; ", KNOWN_KEYS);
    verdict = key->read(options, value);
    if (verdict == MALFORMED) return complain(message, setting, "expected ", key->accepted);
    if (verdict == OUT_OF_RANGE || rb_heapprof_options_out_of_range(options, &expected)) {
        return complain(message, setting, "expected ", key->range);
    }
    return HEAPPROF_OPTIONS_ON;
}

enum heapprof_options_result
rb_heapprof_options_parse(const char *text, struct heapprof_options *options,
                          char *message, size_t message_size)
{
    struct message complaint = {message, message_size};
    struct piece setting;

    rb_heapprof_options_default(options);
    if (!text || *text == '\0' || strcmp(text, "0") == 0) return HEAPPROF_OPTIONS_OFF;
    if (strcmp(text, "1") == 0) return HEAPPROF_OPTIONS_ON;

    for (;;) {
        setting.start = text;
        setting.length = strcspn(text, ",");
        if (read_setting(options, setting, complaint) == HEAPPROF_OPTIONS_BAD) {
            return HEAPPROF_OPTIONS_BAD;
        }
        text += setting.length;
        if (*text++ == '\0') return HEAPPROF_OPTIONS_ON;
    }
}

/* ---- out templates ---- */

static const char *
last_component(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash ? slash + 1 : program;
}

/* What %letter stands for, written into digits if it is a number; NULL: unknown. */
static const char *
expansion(char letter, const struct heapprof_out_values *values, char *digits, size_t size)
{
    switch (letter) {
      case '%':
        return "%";
      case 'e':
        return last_component(values->program);
      case 'p':
        snprintf(digits, size, "%ld", values->pid);
        return digits;
      case 't':
        snprintf(digits, size, "%" PRId64, values->time);
        return digits;
      case 'n':
        snprintf(digits, size, "%u", values->number);
        return digits;
      default:
        return NULL;
    }
}

bool
rb_heapprof_options_expand_out(const char *template_text,
                               const struct heapprof_out_values *values,
                               char *path, size_t size)
{
    char digits[32];
    size_t used = 0;

    while (*template_text) {
        const char *text = *template_text == '%' ?
            expansion(template_text[1], values, digits, sizeof(digits)) : NULL;
        size_t length = text ? strlen(text) : 1;
        if (length >= size - used) return false;
        memcpy(path + used, text ? text : template_text, length);
        used += length;
        template_text += text ? 2 : 1;
    }
    path[used] = '\0';
    return true;
}
