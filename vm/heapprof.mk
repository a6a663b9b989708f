# heapprof.mk - our part of MRI's build, included by common.mk (patch 0001-heapprof).
#
# Decides which objects join ruby, how each room is compiled, and what a change rebuilds:
#   base os pprof profiler report dump   without any include path of Ruby's (scripts/plain.mk)
#   gc                       included by gc.c, so it is gc.o that depends on them
#   vm                       as MRI compiles its own files
# The compiler writes the dependencies of our objects and of the MRI files that our patches
# change, so that an edited file rebuilds what includes it, relinks, and touches nothing else.
#
# $(srcdir)/heapprof is the overlay: links to this repository's directories (scripts/prepare).
# heapprof.rb is linked into $(srcdir) itself, for a builtin is known by its path from there, and
# its path has to be its name.

HEAPPROF = $(srcdir)/heapprof
PROTOC ?= protoc

# A source archive (scripts/dist) has all that is generated, and the bundled gems unpacked, as MRI's
# own has: it asks no ruby, and downloads nothing. There heapprof is made by this make, too.
HEAPPROF_PAGE = $(wildcard $(HEAPPROF)/cli/page/page.html)
ifneq ($(HEAPPROF_PAGE),)
override HAVE_BASERUBY = no
PLAIN_ROOMS = base os pprof profiler report unwind attach dump graph memcheck cli
else
PLAIN_ROOMS = base os pprof profiler report dump
endif

PLAIN_SRC = $(HEAPPROF)
PLAIN_OBJ = heapprof
PLAIN_UPB = $(HEAPPROF)/upb
PLAIN_CC = $(CC) $(CFLAGS) $(filter-out -I%,$(XCFLAGS) $(CPPFLAGS))
PLAIN_SCRIPTS = $(HEAPPROF)/scripts
include $(HEAPPROF)/scripts/plain.mk

HEAPPROF_VM_OBJS = $(patsubst $(HEAPPROF)/vm/%.c,heapprof/vm/%.$(OBJEXT), \
	$(wildcard $(HEAPPROF)/vm/*.c $(HEAPPROF)/vm/*/*.c))

# Of report/ what answers a program's questions, as one object: the room's names are for heapprof, and only those
# of answer.h for ruby, where each name has to be rb_heapprof's.
HEAPPROF_REPORT = $(PLAIN_OBJ)/report/all.$(OBJEXT)
HEAPPROF_EXPORTS = $(filter-out %/export_collapsed.o,$(filter $(PLAIN_OBJ)/report/export_%,$(PLAIN_OBJS)))
HEAPPROF_REPORT_OBJS = $(filter-out $(PLAIN_OBJ)/report/page% $(PLAIN_OBJ)/report/tuples.o $(PLAIN_OBJ)/report/xml.o $(HEAPPROF_EXPORTS) \
	$(PLAIN_OBJ)/report/sarif.o $(PLAIN_OBJ)/report/findings.o $(PLAIN_OBJ)/report/table_markdown.o, \
	$(filter $(PLAIN_OBJ)/report/%,$(PLAIN_OBJS)))
HEAPPROF_OBJS = $(filter-out $(PLAIN_OBJ)/report/% $(PLAIN_OBJ)/unwind/% $(PLAIN_OBJ)/attach/% $(PLAIN_OBJ)/graph/% $(PLAIN_OBJ)/memcheck/% $(PLAIN_OBJ)/cli/%,$(PLAIN_OBJS)) \
	$(HEAPPROF_REPORT) $(HEAPPROF_VM_OBJS)

$(HEAPPROF_REPORT): $(HEAPPROF_REPORT_OBJS) $(HEAPPROF)/vm/heapprof.mk
	$(ECHO) linking $@
	$(Q) $(LD) -r -o $@.new $(HEAPPROF_REPORT_OBJS)
	$(Q) $(OBJCOPY) --wildcard --keep-global-symbol='rb_heapprof_*' $@.new
	$(Q) mv $@.new $@

# Last in the search, so that MRI's own gc/ and vm files are found before ours.
INCFLAGS += -I$(HEAPPROF)

ifeq ($(filter -lz,$(MAINLIBS)),)
MAINLIBS += -lz
endif

# A file of ours in YJIT's crate (patch 0017-jit_code).
$(YJIT_LIBS): $(HEAPPROF)/vm/outside/jit_marks.rs

heapprof/vm/%.$(OBJEXT): $(HEAPPROF)/vm/%.c
	@$(MAKEDIRS) $(@D)
	$(ECHO) compiling $<
	$(Q) $(CC) $(CFLAGS) $(XCFLAGS) $(CPPFLAGS) -Werror=implicit-function-declaration \
		-MMD -MP $(COUTFLAG)$@ -c $(CSRCFLAG)$<

# Generated before the first compilation, when no dependency is known yet.
$(HEAPPROF_VM_OBJS): | probes.h $(srcdir)/heapprof.rbinc

# MRI's files that include ours: gc.c, which includes gc/default/default.c, and every file a patch
# changes. A patched file that another one includes needs its includer named beside gc.c.
HEAPPROF_HOOKED := $(sort gc.$(OBJEXT) $(shell sed -n 's|^+++ b/\([^/]*\)\.c$$|\1.$(OBJEXT)|p' \
	/dev/null $(wildcard $(HEAPPROF)/*/patches/*.patch)))
# -g3: test_descriptor asks the debugging information for their macros.
$(HEAPPROF_HOOKED): private XCFLAGS += -MMD -MP -g3

-include $(wildcard heapprof/vm/*.d heapprof/vm/*/*.d $(HEAPPROF_HOOKED:.$(OBJEXT)=.d))

ifneq ($(HEAPPROF_PAGE),)
CLI_PROGRAM = heapprof/bin/heapprof
CLI_LINK = $(CC) $(CFLAGS) $(XLDFLAGS)
CLI_PAGE = $(HEAPPROF_PAGE)
CLI_BIN = $(DESTDIR)$(bindir)
CLI_SHARE = $(DESTDIR)$(datadir)
include $(HEAPPROF)/scripts/program.mk

main: $(CLI_PROGRAM)
post-install-local:: install-program
endif
