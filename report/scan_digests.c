/* scan_digests.c - digests of what a reader sees of a row: names, short paths, lines, labels. So no
 * two rows look alike. A stack's digest is made of the digests of its frames. */
#include "report/scan.h"

#include <string.h>

#include "report/own.h"

/* Seed of the digests of what has no name. No name is so long. */
#define UNNAMED (UINT64_C(1) << 62)

static void
digest_text(struct heapprof_digest *digest, const char *text)
{
    rb_heapprof_digest_bytes(digest, text, strlen(text));
}

struct heapprof_digest
report_digest_text(const char *text, size_t length)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    rb_heapprof_digest_bytes(&digest, text, length);
    return digest;
}

struct heapprof_digest
report_digest_unnamed(void)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    rb_heapprof_digest_number(&digest, UNNAMED);
    return digest;
}

/* Makes the digest of a function, by its name and the file that defines it. A C function has no
 * such file. A frame without a function has an address. */
static struct heapprof_digest
digest_function(const struct report_scan *scan, const struct report_frame *frame)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    digest_text(&digest, frame->name);
    if (!frame->name[0]) rb_heapprof_digest_number(&digest, frame->address);
    if (!frame->native) digest_text(&digest, report_short_path(frame->file, scan->directory));
    return digest;
}

static struct heapprof_digest
digest_line(const struct report_scan *scan, const struct report_frame *frame)
{
    struct heapprof_digest digest = rb_heapprof_digest_begin();

    digest_text(&digest, report_short_path(frame->file, scan->directory));
    rb_heapprof_digest_number(&digest, (uint64_t)frame->line);
    return digest;
}

struct heapprof_digest
report_digest_frame(const struct report_scan *scan, uint64_t line)
{
    struct report_frame frame = report_scan_frame(scan, line);
    struct heapprof_digest digest = digest_line(scan, &frame);

    digest_text(&digest, frame.name);
    if (!frame.name[0]) rb_heapprof_digest_number(&digest, frame.address);
    return digest;
}

/* Makes the digest of a label's text, as a reader sees it. */
struct heapprof_digest
report_digest_label(const struct heapprof_samples *samples, const char *key)
{
    const struct heapprof_model_label *label = report_find_label(samples, key);
    char buffer[REPORT_LABEL_MAX];

    if (!label) return report_digest_unnamed();
    const char *text = report_label_text(samples->model, label, buffer);
    return report_digest_text(text, strlen(text));
}

/* Makes the digest of a site's title (rows.c). */
static struct heapprof_digest
digest_title(const struct heapprof_samples *samples)
{
    struct heapprof_digest digest;

    if (!report_find_label(samples, "caller")) return report_digest_label(samples, "class");
    digest = report_digest_label(samples, "caller");
    rb_heapprof_digest_add(&digest, report_digest_label(samples, "owner"));
    rb_heapprof_digest_number(&digest, report_find_label(samples, "native_leak") != NULL);
    return digest;
}

/* Makes the digest of the frames that are shown: the innermost ones, and the first of the
 * application further out. */
struct heapprof_digest
report_digest_site(const struct report_scan *scan, const struct heapprof_samples *samples)
{
    struct heapprof_digest digest = digest_title(samples);
    size_t most = scan->groups->question.frames, count = 0;
    bool own_seen = false;

    if (most == 0)
        most = !report_find_label(samples, "class"); /* the innermost function is the title */
    REPORT_EACH_FRAME(samples, frame, {
        bool own = report_scan_marks(scan, frame) & REPORT_OWN;
        bool near = count++ < most;
        if (!near && own_seen) return digest;
        if (near || own) {
            rb_heapprof_digest_add(&digest, frame & REPORT_NO_LINE
                                                ? report_digest_frame(scan, frame)
                                                : scan->lines[frame]);
        }
        own_seen = own_seen || own;
    });
    return digest;
}

/* Makes the digest of a frame by that group. */
struct heapprof_digest
report_digest_in(const struct report_scan *scan, uint64_t frame)
{
    struct report_frame what = report_scan_frame(scan, frame);
    const char *text = NULL;
    size_t length;

    switch (scan->groups->question.group) {
      case REPORT_FUNCTION: return digest_function(scan, &what);
      case REPORT_APP: return digest_line(scan, &what);
      case REPORT_GEM: text = report_gem(what.file, scan->directory, &length); break;
      default:
        text = report_short_path(what.file, scan->directory);
        length = strlen(text);
    }
    return report_digest_text(text, length);
}
