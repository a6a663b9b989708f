/* product.h - the words that `ruby -v` and RUBY_DESCRIPTION have behind MRI's own, in MRI's
 * manner (+YJIT, +PRISM). Profiles and graph dumps name their build by the same text. */
#ifndef HEAPPROF_PRODUCT_H
#define HEAPPROF_PRODUCT_H

#include "base/mri.h"
#include "base/version.h"

#if HEAPPROF_MRI_TESTED
# define HEAPPROF_DESCRIPTION "+heapprof " HEAPPROF_VERSION " "
#else
# define HEAPPROF_DESCRIPTION "+heapprof " HEAPPROF_VERSION " " HEAPPROF_UNTESTED " "
#endif

#endif
