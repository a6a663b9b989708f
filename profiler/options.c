/* options.c - RUBY_HEAPPROF read into settings.
 *
 * base/settings cuts the text. The key picks a row of keys[]. The row's kind says how the value is
 * read, where it is stored, and how its range is described.
 *
 *   I1  a later setting of a key replaces an earlier one.
 *   I2  keys[] is HEAPPROF_SETTINGS and nothing else: what is accepted and what messages say
 *       cannot differ. Ranges hold for options that did not come from text, too.
 *
 * Pure: no allocation, no locale, no environment. May run anywhere.
 */
#include "profiler/options.h"
#include "base/settings.h"
#include "os/interpose.h"
#include "profiler/out.h"

#include <stddef.h>
#include <string.h>

enum verdict { READ, MALFORMED, OUT_OF_RANGE };

/* What a value is, and the type of its field. */
enum kind {
    BYTES,       /* uint64_t; k, m or g may follow */
    INTERVAL,    /* the same; or auto */
    AS_INTERVAL, /* the same, unless it is HEAPPROF_AS_INTERVAL */
    FRAMES,      /* uint32_t */
    COUNT,       /* uint32_t */
    SECONDS,     /* uint64_t, in milliseconds; 0, too */
    SIGNAL,      /* uint32_t; 0, too */
    MARKS,       /* uint64_t[HEAPPROF_MARKS]: least to most of them, "70%/512m"; 0, too */
    SEED,        /* uint64_t, with seeded */
    SWITCH,      /* bool */
    WHOSE,       /* bool: ruby or all */
    NAME         /* char[HEAPPROF_OUT_MAX], not empty */
};

struct key {
    const char *name;
    enum kind kind;
    size_t offset;         /* of the field */
    const char *otherwise; /* the default, as text */
    uint64_t least, most;
    const char *range;     /* which well-formed values are taken */
    const char *accepted;  /* what a well-formed one is */
};

#define RANGE_BYTES(least, most) #least " to " #most " bytes"
#define RANGE_INTERVAL(least, most) RANGE_BYTES(least, most)
#define RANGE_AS_INTERVAL(least, most) RANGE_BYTES(least, most)
#define RANGE_FRAMES(least, most) #least " to " #most " frames"
#define RANGE_COUNT(least, most) #least " to " #most
#define RANGE_SECONDS(least, most) "0, or 0.1 to 604800 seconds"
#define RANGE_SIGNAL(least, most) HEAPPROF_SIGNALS "; or none"
#define RANGE_MARKS(least, most) \
    #least " to " #most " marks, each of 1% to 100%, or of 1048576 bytes and more"
#define RANGE_SEED(least, most) #least " to " #most
#define RANGE_SWITCH(least, most) #most " or " #least
#define RANGE_WHOSE(least, most) "ruby (all needs Linux with glibc on x86-64 or AArch64)"
#define RANGE_NAME(least, most) #least " to " #most " characters"

static const struct key keys[] = {
#define ROW(key, kind, field, otherwise, least, most, accepted) \
    {#key, kind, offsetof(struct heapprof_options, field), otherwise, \
     UINT64_C(least), UINT64_C(most), RANGE_##kind(least, most), accepted},
    HEAPPROF_SETTINGS(ROW)
#undef ROW
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

#define COMMA_NAME(key, kind, field, otherwise, least, most, accepted) ", " #key
static const char comma_names[] = HEAPPROF_SETTINGS(COMMA_NAME);
#undef COMMA_NAME

/* ---- fields ---- */

static uint64_t
load(const struct heapprof_options *options, const struct key *key)
{
    const void *field = (const char *)options + key->offset;

    switch (key->kind) {
      case BYTES: case INTERVAL: case AS_INTERVAL: case SEED: case SECONDS:
        return *(const uint64_t *)field;
      case FRAMES: case COUNT: case SIGNAL:
        return *(const uint32_t *)field;
      case SWITCH: case WHOSE:
        return *(const bool *)field;
      case MARKS:
        return *(const uint64_t *)field != 0;
      case NAME:
        return strlen(field);
    }
    return 0;
}

static void
store(struct heapprof_options *options, const struct key *key, uint64_t number)
{
    void *field = (char *)options + key->offset;

    switch (key->kind) {
      case SEED:
        options->seeded = true;
        /* fall through */
      case BYTES: case INTERVAL: case AS_INTERVAL: case SECONDS:
        *(uint64_t *)field = number;
        break;
      case FRAMES: case COUNT: case SIGNAL:
        *(uint32_t *)field = (uint32_t)number;
        break;
      case SWITCH: case WHOSE:
        *(bool *)field = number != 0;
        break;
      case NAME: case MARKS:
        break;
    }
}

/* ---- values ---- */

/* Digits only, at least one. */
static enum verdict
read_number(struct heapprof_span value, uint64_t *number)
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
      case 'k': case 'K': return 10;
      case 'm': case 'M': return 20;
      case 'g': case 'G': return 30;
      default:            return 0;
    }
}

static enum verdict
read_bytes(struct heapprof_span value, uint64_t *bytes)
{
    int shift = value.length ? suffix_shift(value.start[value.length - 1]) : 0;
    enum verdict verdict;

    if (shift) value.length--;
    verdict = read_number(value, bytes);
    if (verdict == READ && *bytes > UINT64_MAX >> shift) return OUT_OF_RANGE;
    *bytes <<= shift;
    return verdict;
}

/* Digits, and up to three more behind a point; in thousandths. */
static enum verdict
read_seconds(struct heapprof_span value, uint64_t *thousandths)
{
    const char *point = memchr(value.start, '.', value.length);
    struct heapprof_span whole = { value.start,
                                   point ? (size_t)(point - value.start) : value.length };
    enum verdict verdict = read_number(whole, thousandths);
    uint64_t fraction = 0, unit = 1000;

    if (verdict == MALFORMED) return MALFORMED;
    if (point) {
        struct heapprof_span digits = {point + 1, value.length - whole.length - 1};
        if (digits.length > 3 || read_number(digits, &fraction) != READ) return MALFORMED;
        for (size_t i = 0; i < digits.length; i++) unit /= 10;
    }
    if (*thousandths > UINT64_MAX / 1000 - 1) return OUT_OF_RANGE;
    *thousandths = *thousandths * 1000 + fraction * unit;
    return verdict;
}

static enum verdict
read_signal(struct heapprof_span value, uint64_t *number)
{
    *number = (uint64_t)rb_heapprof_signal_number(value.start, value.length);
    return *number || rb_heapprof_span_is_p(value, "none") ? READ : MALFORMED;
}

static enum verdict
read_mark(struct heapprof_span value, uint64_t *mark)
{
    bool share = value.length > 0 && value.start[value.length - 1] == '%';
    enum verdict verdict;

    if (share) value.length--;
    verdict = share ? read_number(value, mark) : read_bytes(value, mark);
    if (verdict != READ) return verdict;
    return (share ? *mark >= 1 && *mark <= 100 : *mark >= HEAPPROF_MARK_LEAST) ? READ
                                                                               : OUT_OF_RANGE;
}

/* Marks with a slash between them, up to `most`. */
static enum verdict
read_marks(struct heapprof_span value, uint64_t *marks, uint64_t most)
{
    enum verdict worst = READ;
    uint64_t count = 0;

    memset(marks, 0, HEAPPROF_MARKS * sizeof(*marks));
    if (rb_heapprof_span_is_p(value, "0")) return READ;
    for (;;) {
        const char *slash = memchr(value.start, '/', value.length);
        struct heapprof_span mark = { value.start,
                                      slash ? (size_t)(slash - value.start) : value.length };
        uint64_t number = 0;
        enum verdict verdict = read_mark(mark, &number);
        if (verdict == MALFORMED) return MALFORMED;
        if (verdict == OUT_OF_RANGE || count == most) worst = OUT_OF_RANGE;
        else marks[count++] = number;
        if (!slash) return worst;
        value = (struct heapprof_span){ slash + 1, value.length - mark.length - 1 };
    }
}

static enum verdict
read_whose(struct heapprof_span value, uint64_t *all)
{
    *all = rb_heapprof_span_is_p(value, "all");
    return *all || rb_heapprof_span_is_p(value, "ruby") ? READ : MALFORMED;
}

static enum verdict
read_name(char *name, struct heapprof_span value, uint64_t most)
{
    if (!rb_heapprof_out_template_p(value.start, value.length)) return MALFORMED;
    if (value.length > most) return OUT_OF_RANGE;
    memcpy(name, value.start, value.length);
    name[value.length] = '\0';
    return READ;
}

static bool
in_range_p(const struct key *key, uint64_t number)
{
    if ((key->kind == SECONDS || key->kind == SIGNAL || key->kind == MARKS) && number == 0)
        return true;
    return number >= key->least && number <= key->most;
}

static enum verdict
read_value(struct heapprof_options *options, const struct key *key, struct heapprof_span value)
{
    enum verdict verdict = MALFORMED;
    uint64_t number = 0;

    if (key->kind == INTERVAL && rb_heapprof_span_is_p(value, "auto")) {
        store(options, key, HEAPPROF_AUTO_INTERVAL);
        return READ;
    }
    switch (key->kind) {
      case NAME:
        options->named = true;
        return read_name((char *)options + key->offset, value, key->most);
      case MARKS:
        return read_marks(value, (uint64_t *)((char *)options + key->offset), key->most);
      case WHOSE:
        verdict = read_whose(value, &number);
        break;
      case BYTES: case INTERVAL: case AS_INTERVAL:
        verdict = read_bytes(value, &number);
        break;
      case FRAMES: case COUNT: case SEED: case SWITCH:
        verdict = read_number(value, &number);
        break;
      case SECONDS:
        verdict = read_seconds(value, &number);
        break;
      case SIGNAL:
        verdict = read_signal(value, &number);
        break;
    }
    if (verdict != READ) return verdict;
    if (!in_range_p(key, number)) return OUT_OF_RANGE;
    store(options, key, number);
    return READ;
}

void
rb_heapprof_options_default(struct heapprof_options *options)
{
    size_t i;

    memset(options, 0, sizeof(*options));
    for (i = 0; i < KEY_COUNT; i++) {
        struct heapprof_span otherwise = {keys[i].otherwise, strlen(keys[i].otherwise)};
        if (keys[i].kind == AS_INTERVAL) store(options, &keys[i], HEAPPROF_AS_INTERVAL);
        else if (keys[i].kind != SEED) read_value(options, &keys[i], otherwise);
    }
    options->named = false;
}

/* ---- ranges ---- */

static bool
fits_p(const struct heapprof_options *options, const struct key *key)
{
    uint64_t number = load(options, key);

    if (key->kind == WHOSE) return HEAPPROF_CAN_INTERPOSE || !number;
    if (key->kind == INTERVAL && number == HEAPPROF_AUTO_INTERVAL) return true;
    if (key->kind == AS_INTERVAL && number == HEAPPROF_AS_INTERVAL) return true;
    return in_range_p(key, number);
}

const char *
rb_heapprof_options_out_of_range(const struct heapprof_options *options, const char **expected)
{
    size_t i;

    for (i = 0; i < KEY_COUNT; i++) {
        if (fits_p(options, &keys[i])) continue;
        *expected = keys[i].range;
        return keys[i].name;
    }
    return NULL;
}

/* ---- text ---- */

/* Where a complaint goes. */
struct options_message {
    char *text;
    size_t size;
};

static enum heapprof_options_result
complain(struct options_message message, const struct heapprof_setting *setting, const char *lead,
         const char *accepted)
{
    rb_heapprof_setting_complain(message.text, message.size, setting, lead, accepted);
    return HEAPPROF_OPTIONS_BAD;
}

static const struct key *
find_key(struct heapprof_span name)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (rb_heapprof_span_is_p(name, keys[i].name)) return &keys[i];
    }
    return NULL;
}

uint64_t
rb_heapprof_options_default_number(const char *key)
{
    struct heapprof_options options;
    struct heapprof_span name = {key, strlen(key)};

    rb_heapprof_options_default(&options);
    return load(&options, find_key(name));
}

static const char lock[] = "locked";

static enum heapprof_options_result
read_setting(struct heapprof_options *options, const struct heapprof_setting *setting,
             struct options_message message)
{
    const struct key *key = find_key(setting->key);
    const char *expected;
    enum verdict verdict;

    if (!setting->value.start) {
        return complain(message, setting, "expected 1, 0, locked or key=value; known keys are ",
                        comma_names + 2);
    }
    if (rb_heapprof_span_is_p(setting->key, lock)) {
        return complain(message, setting, "expected ", "locked, without a value");
    }
    if (!key) return complain(message, setting, "no such key; known keys are ", comma_names + 2);
    verdict = read_value(options, key, setting->value);
    if (verdict == MALFORMED) return complain(message, setting, "expected ", key->accepted);
    if (verdict == OUT_OF_RANGE || rb_heapprof_options_out_of_range(options, &expected)) {
        return complain(message, setting, "expected ", key->range);
    }
    return HEAPPROF_OPTIONS_ON;
}

/* How many settings there are beside the word "locked". Sets the last one of them. */
static unsigned
count_settings(const char *text, struct heapprof_setting *last)
{
    unsigned count = 0;

    while (text) {
        struct heapprof_setting setting;
        text = rb_heapprof_setting_read(text, &setting);
        if (rb_heapprof_span_is_p(setting.all, lock)) continue;
        *last = setting;
        count++;
    }
    return count;
}

/* The first one may be "1". */
static enum heapprof_options_result
read_settings(struct heapprof_options *options, const char *text, struct options_message message)
{
    for (bool first = true; text;) {
        struct heapprof_setting setting;
        text = rb_heapprof_setting_read(text, &setting);
        if (rb_heapprof_span_is_p(setting.all, lock)) continue;
        bool on = first && rb_heapprof_span_is_p(setting.all, "1");
        first = false;
        if (!on && read_setting(options, &setting, message) == HEAPPROF_OPTIONS_BAD)
            return HEAPPROF_OPTIONS_BAD;
    }
    return HEAPPROF_OPTIONS_ON;
}

void
rb_heapprof_options_name_files(struct heapprof_options *options)
{
    if (options->named || !rb_heapprof_options_periodic_p(options)) return;
    strcpy(options->out, HEAPPROF_OUT_NUMBERED);
}

/* Also with a value, for that is a mistake: a door that was to be locked does not stay open. */
bool
rb_heapprof_options_locked_p(const char *text)
{
    while (text) {
        struct heapprof_setting setting;
        text = rb_heapprof_setting_read(text, &setting);
        if (rb_heapprof_span_is_p(setting.key, lock)) return true;
    }
    return false;
}

enum heapprof_options_result
rb_heapprof_options_parse(const char *text, struct heapprof_options *options,
                          char *message, size_t message_size)
{
    struct options_message complaint = {message, message_size};
    struct heapprof_setting last;
    enum heapprof_options_result result;

    rb_heapprof_options_default(options);
    switch (text ? count_settings(text, &last) : 0) {
      case 0: return HEAPPROF_OPTIONS_OFF;
      case 1:
        if (last.all.length == 0 || rb_heapprof_span_is_p(last.all, "0"))
            return HEAPPROF_OPTIONS_OFF;
    }
    result = read_settings(options, text, complaint);
    rb_heapprof_options_name_files(options);
    return result;
}
