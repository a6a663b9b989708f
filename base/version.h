/* version.h - which version of this product it is: the one place that says so.
 *
 * scripts/lib.sh reads the number from here for whatever is packed, and scripts/release for its
 * checklist. MRI's version is another one (base/mri.h). CHANGELOG.md has an entry for each version;
 * the numbers follow the rules of semantic versioning.
 */
#ifndef HEAPPROF_VERSION_H
#define HEAPPROF_VERSION_H

#define HEAPPROF_NAME    "ruby-heapprof"
#define HEAPPROF_VERSION "1.0.0"

/* Where programs lead somebody who wants to know more. The product has no page of its own: it is
 * the prototype of a proposal to ruby-core. */
#define HEAPPROF_URI     "https://bugs.ruby-lang.org/projects/ruby-master"

/* Comments of a profile: the version that has written it, and the ruby that it is of. Files of
 * before 1.0.0 have neither. */
#define HEAPPROF_COMMENT_VERSION "heapprof: "
#define HEAPPROF_COMMENT_BUILD   "build: "

/* The comment about the peak, which programs show. */
#define HEAPPROF_COMMENT_PEAK    "peak: "

/* Comments of a file that was written because memory has crossed a mark (vm/run/marks.c). Of a
 * control group: what all others have in memory, and the largest of them. */
#define HEAPPROF_COMMENT_MARK     "mark: "            /* 85% */
#define HEAPPROF_COMMENT_RESIDENT "resident: "        /* 1234 bytes */
#define HEAPPROF_COMMENT_LIMIT    "limit: "           /* 1234 of 5678 bytes, memory.max */
#define HEAPPROF_COMMENT_REACHED  "limit reached: "   /* high 1, max 2, killed 3 */
#define HEAPPROF_COMMENT_OTHERS   "other processes: " /* 1234 bytes, 5 */
#define HEAPPROF_COMMENT_LARGEST  "largest other: "   /* 1234 bytes, 42 convert */
#define HEAPPROF_COMMENT_WAITED   "waited for memory: " /* 12%, of ten seconds */
#define HEAPPROF_COMMENT_COPY     "written by a copy: "
#define HEAPPROF_CRASHED          "the program crashed"  /* of a copy: why */
#define HEAPPROF_USED_UP          "memory was used up"   /* likewise */
#define HEAPPROF_COMMENT_RUNG     "in memory: "       /* 1234 bytes, slots */
#define HEAPPROF_COMMENT_GREW     "grew: "            /* 1234 bytes, String, Cart#load cart.rb:5 */

/* What `ruby -v`, and so a profile's build, says when all checks have not passed on its base. */
#define HEAPPROF_UNTESTED "(untested base)"

#endif
