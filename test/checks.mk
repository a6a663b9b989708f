# checks.mk - what is checked, and how. test/checks.table says of each what it proves and how long it takes;
# `make help` prints that.
#
# A check is a target. It needs what it checks, builds it, and fails by its exit status.

# $(call in-ruby,SCRIPT ARGUMENTS): a script on the ruby that is built, and not installed.
in-ruby = $(Q) $(MAKE) -C build/ruby runruby RUNOPT0=--disable-gems TESTRUN_SCRIPT='$(CURDIR)/$(1)'

# $(call test-all,BUILD,FILES,OPTIONS): test files under MRI's own runner.
test-all = $(Q) $(MAKE) -C $(1) test-all TESTS='$(2)' TESTOPTS='$(TESTOPTS) $(3)'

# Before each push.
check:
	+$(Q) scripts/run-checks check

# Everything in the table; hours. What has passed on the same sources is not run again, except with AGAIN=1.
check-full:
	+$(Q) scripts/run-checks $(if $(AGAIN),,--resume) check-full

# Which commit each part has passed on last, and whether these sources are the same.
check-status:
	@scripts/run-checks --status check-full

help:
	@scripts/checks help

# Each kind of thing that check builds, and nothing of it run: check-bare looks whether it can be. Of unit tests and of fuzz
# targets it is one, for all have the same compilers, headers and libraries.
check-build: tested heapprof hostile
	+$(Q) $(MAKE) units units-tsan UNIT_SOURCES=test/unit/base/array_test.cc
	+$(Q) $(MAKE) fuzz-build FUZZ_TARGETS=build/fuzz/options_fuzz

# README's commands in a debootstrap'ed Debian, as root. BARE=TARGETS: these instead, as 'demo check'.
BARE =

check-bare:
	@test/install/bare $(BARE)

# What our sources use against scripts/packages.
check-packages:
	@$(BASERUBY) scripts/check-packages

ALL_RUBY_TESTS = $(sort $(wildcard $(CURDIR)/test/ruby/test_*.rb))
RUBY_TESTS = $(ALL_RUBY_TESTS)
SCRIPTS_TESTS = $(sort $(wildcard $(CURDIR)/test/scripts/test_*.rb))
TESTOPTS = -q --tty=no
# Two files at once; a test that fails is not tried again.
TESTJOBS = -j2 --no-retry

# Keeps the profiles that the tests write, for check-viewers.
KEPT = build/kept

# The descriptor of the other machine that MRI is built for most, held against what the compiler says there.
check-descriptor-aarch64: ruby-aarch64
	+$(Q) DESCRIPTOR_IMAGE=$(CURDIR)/build/aarch64/ruby DESCRIPTOR_EMULATOR="qemu-aarch64-static -L $(AARCH64_ROOT)" \
		$(MAKE) check-ruby RUBY_TESTS=$(CURDIR)/test/ruby/test_descriptor.rb SCRIPTS_TESTS=

# The same in other builds of MRI, and what `heapprof` reads by it there: with a shared library; not position-independent,
# and without YJIT. Each is a build of some minutes. VARIANTS=NAME: that one.
VARIANTS = shared fixed
VARIANT_shared = --enable-shared
VARIANT_fixed = --disable-pie --disable-yjit
VARIANT_TESTS = test/ruby/test_descriptor.rb test/attach/test_stacks.rb test/attach/test_snapshot.rb

check-descriptor-variants: $(VARIANTS:%=check-descriptor-%)

check-descriptor-%: tests heapprof
	$(Q) scripts/configure-ruby build/$* $(SOURCES) $(CONFIGURE_ARGS) $(VARIANT_$*)
	+$(Q) $(MAKE) -C build/$*
	+$(call test-all,build/$*,$(VARIANT_TESTS:%=$(CURDIR)/%))

check-ruby: export HEAPPROF_KEEP = $(CURDIR)/$(KEPT)
check-ruby: heapprof tested
	@rm -rf $(KEPT) && mkdir -p $(KEPT)
	+$(Q) $(MAKE) -C build/ruby test-leaked-globals
	+$(call test-all,build/ruby,$(RUBY_TESTS) $(SCRIPTS_TESTS),$(TESTJOBS))

# heapprof: its commands, and that it agrees with go tool pprof.
CLI_TESTS = $(sort $(wildcard $(CURDIR)/test/cli/test_*.rb))

check-cli: heapprof tested
	+$(call test-all,build/ruby,$(CLI_TESTS),$(TESTJOBS))

# Both for AArch64, emulated. test/aarch64/README.md names what is left out, and why.
AARCH64_ROOT = $(CURDIR)/build/aarch64-root
AARCH64_CC = aarch64-linux-gnu-gcc --sysroot=$(AARCH64_ROOT)
# So qemu needs no -L, by which it would take "/" for that folder.
AARCH64_IN_PLACE = -Wl,--dynamic-linker=$(AARCH64_ROOT)/lib/ld-linux-aarch64.so.1 -Wl,--disable-new-dtags \
	-Wl,-rpath=$(AARCH64_ROOT)/lib/aarch64-linux-gnu:$(AARCH64_ROOT)/usr/lib/aarch64-linux-gnu
MAKE_CLI_AARCH64 = $(MAKE) UNIT=build/cli-aarch64 UNIT_FLAGS='$(CLI_FLAGS)' CLI_CLANG= CC='$(AARCH64_CC)' \
	CLI_EMULATOR='qemu-aarch64-static -L $(AARCH64_ROOT)' LD=aarch64-linux-gnu-ld OBJCOPY=aarch64-linux-gnu-objcopy

heapprof-aarch64:
	$(Q) scripts/aarch64-root
	+$(Q) $(MAKE_CLI_AARCH64) CLI_PROGRAM=build/aarch64-bin/heapprof CLI_LINK='$(AARCH64_CC) $(AARCH64_IN_PLACE)' programs

ruby-aarch64: installed tested
	+$(Q) BASERUBY=$(prefix)/bin/ruby IN_PLACE='$(AARCH64_IN_PLACE)' scripts/cross-aarch64 $(SOURCES) $(prefix)

# What depends on the machine: objects where they are made, moved and freed; stacks of Ruby, and of C in memcheck; barriers.
AARCH64_RUBY_TESTS = newobj free move frames names wbcheck
AARCH64_TESTS = $(CURDIR)/test/aarch64/test_core.rb $(CURDIR)/test/memcheck/test_memcheck.rb $(AARCH64_RUBY_TESTS:%=$(CURDIR)/test/ruby/test_%.rb)
LEFT_OUT = --excludes-dir=$(CURDIR)/test/aarch64/left_out

check-aarch64: heapprof heapprof-aarch64 ruby-aarch64
	+$(Q) HEAPPROF_PROGRAM=$(CURDIR)/test/aarch64/heapprof $(MAKE) check-cli TESTOPTS='$(TESTOPTS) $(LEFT_OUT)'
	+$(Q) HEAPPROF_RUBY=$(CURDIR)/build/aarch64-bin/ruby $(MAKE) check-emulated TESTOPTS='$(TESTOPTS) $(LEFT_OUT)'

check-emulated:
	+$(call test-all,build/ruby,$(AARCH64_TESTS),$(TESTJOBS))

# heapprof graph: who keeps what, in programs of which that is known (test/graph/README.md). ANSWERS='PART WORD': cases of a part.
ANSWERS =

check-graph-answers: heapprof tested
	+$(call in-ruby,test/graph/run $(CURDIR)/$(CLI_PROGRAM) $(ANSWERS))

# heapprof barriers: its rules, and what it finds in MRI's sources.
BARRIERS_TESTS = $(sort $(wildcard $(CURDIR)/test/barriers/test_*.rb))

check-barriers: heapprof tested
	+$(call test-all,build/ruby,$(BARRIERS_TESTS),$(TESTJOBS))

# Each barrier of MRI's own extensions taken away while their tests run under RUBY_WBCHECK. EXTENSIONS=NAME: those in whose name that is.
check-barriers-mutation: installed tests
	$(Q) $(prefix)/bin/ruby --disable-gems test/barriers/mutation $(EXTENSIONS)

ATTACH_TESTS = $(sort $(wildcard $(CURDIR)/test/attach/test_*.rb))

check-attach: heapprof tested hostile
	+$(call test-all,build/ruby,$(ATTACH_TESTS))

# heapprof memcheck: what extensions lose is found, and nothing else is.
MEMCHECK_TESTS = $(sort $(wildcard $(CURDIR)/test/memcheck/test_*.rb))

check-memcheck: heapprof tested
	+$(call test-all,build/ruby,$(MEMCHECK_TESTS))

# The tests of MRI's own extensions under it: some minutes. EXTENSIONS=NAME: those in whose name that is.
EXTENSIONS =

check-memcheck-extensions: heapprof tested
	+$(call in-ruby,test/memcheck/extensions $(CURDIR)/$(CLI_PROGRAM) $(EXTENSIONS))

# The same with --objects: none of them uses a dead object.
check-memcheck-objects: heapprof tested
	+$(call in-ruby,test/memcheck/extensions --objects $(CURDIR)/$(CLI_PROGRAM) $(EXTENSIONS))

# The same of MRI itself (heapprof memcheck --ruby), by its core tests: some ten minutes. CORE=NAME
CORE =

check-memcheck-core: heapprof tested
	+$(call in-ruby,test/memcheck/extensions --core $(CURDIR)/$(CLI_PROGRAM) $(CORE))

# Each opens in speedscope. After check-ruby.
check-viewers:
	@scripts/check-viewers $(KEPT)

# heapprof view and graph view in Chromium, and DevTools on what heapprof graph convert makes.
REAL_GRAPH = $(CURDIR)/build/rdoc.rbgraph

check-view: heapprof tested
	+$(call in-ruby,test/view/rdoc.rb $(REAL_GRAPH))
	@REAL_GRAPH=$(REAL_GRAPH) REAL_CLASS=RDoc::Store HEAPPROF=$(CURDIR)/$(CLI_PROGRAM) \
		scripts/chromium --test --test-reporter=tap $(notdir $(wildcard test/view/*.test.mjs))

# DevTools on the heap of the Rails worker that check-guides has dumped last.
RAILS_GRAPH = $(wildcard $(CURDIR)/build/guides/object-graph/heap-*-2.rbgraph)

check-view-rails: heapprof
	$(if $(RAILS_GRAPH),,$(error no dump of Rails: make check-guides GUIDES=object-graph first))
	@REAL_GRAPH=$(RAILS_GRAPH) REAL_CLASS=ActiveSupport::Notifications::Fanout::Subscribers::EventObject \
		HEAPPROF=$(CURDIR)/$(CLI_PROGRAM) scripts/chromium --test --test-reporter=tap \
		--test-name-pattern='real program' graph.test.mjs

# What a key costs on the page of a profile of 57,000 functions.
bench-view: heapprof
	@HEAPPROF=$(CURDIR)/$(CLI_PROGRAM) scripts/chromium keys_cost.mjs

# Pictures of whole pages in build/screens, to be looked at: of a profile made up, or SCREENS=FILE...
SCREENS =

screens: heapprof
	@HEAPPROF=$(CURDIR)/$(CLI_PROGRAM) scripts/chromium screens.mjs $(CURDIR)/build/screens $(abspath $(SCREENS))

# Those of README.md and doc/pictures.md, of the profiles of check-guides; or PICTURES=DIRECTORY with such profiles.
PICTURES = build/guides/find-a-leak/before

pictures: heapprof
	@HEAPPROF=$(CURDIR)/$(CLI_PROGRAM) scripts/chromium pictures.mjs $(abspath $(PICTURES)) $(CURDIR)/doc

# Whether the folders of C use only what lies below them, by includes and by the names in their objects.
check-rooms: heapprof ruby
	@$(BASERUBY) scripts/check-rooms

# Where MRI's own checks after each GC can see more than ours: flag bits, objects that die and move, room in the tables,
# forks and Ractors. Each takes ten times as long as in build/checked.
DEBUG_TESTS = $(patsubst %,$(CURDIR)/test/ruby/test_%.rb,accounting descriptor fork free generation lifetime malloc move newobj \
	owners ractor sequence stop thinning track verify weak)

# Where our assertions see no more than in the other files: what is tested is a library, a file, a document or an average.
UNCHECKED_TESTS = $(patsubst %,$(CURDIR)/test/ruby/test_%.rb,accuracy difference documentation examples gems load \
	memprof_dump memprof_trace pprof rack rack_admission report security speedscope symbols unseen valgrind version)

check-checked: RUBY_TESTS = $(filter-out $(DEBUG_TESTS) $(UNCHECKED_TESTS),$(ALL_RUBY_TESTS))
check-checked: checked heapprof hostile
	+$(if $(RUBY_TESTS),$(call test-all,build/checked,$(RUBY_TESTS),$(TESTJOBS)))
	+$(call test-all,build/checked,$(MEMCHECK_TESTS) $(ATTACH_TESTS))

check-debug: RUBY_TESTS = $(DEBUG_TESTS)
check-debug: debug
	+$(call test-all,build/debug,$(RUBY_TESTS),$(TESTJOBS))

# Every scenario of test/accuracy, 200 times; prints doc/accuracy-table.md. Half an hour.
ACCURACYOPTS =

check-accuracy: tested
	+$(call in-ruby,test/accuracy/run $(ACCURACYOPTS))

# One 100 MB string, ten 10 MB arrays and a million small objects, RUNS times, with seeds from SEED on. One minute.
RUNS = 100

check-large: tested
	+$(call in-ruby,test/accuracy/large $(RUNS) $(SEED))

# Episodes drawn at random (test/torture/README.md), for so long or one of them.
# RUBY= SECONDS= SEED= EPISODE= REPEAT= LIMIT=. Without SEED each run has one of its own, and prints it.
RUBY = build/debug/ruby
TORTURE_SETTINGS = RUBY SECONDS SEED EPISODE REPEAT LIMIT

# One that is not installed finds its library by this alone.
RUBY_BUILT = $(abspath $(dir $(RUBY)))
RUBY_LIBRARY = $(if $(wildcard $(RUBY_BUILT)/rbconfig.rb),RUBYLIB=$(subst $() ,:,$(strip \
	$(RUBY_BUILT) $(wildcard $(RUBY_BUILT)/.ext/common $(RUBY_BUILT)/.ext/*-*) $(abspath $(SOURCES)/lib))))

torture: $(if $(filter build/debug/ruby,$(RUBY)),debug)
	$(Q) $(RUBY_LIBRARY) $(RUBY) --disable-gems test/torture/run \
		$(foreach name,$(TORTURE_SETTINGS),$(if $($(name)),$(name)=$($(name))))

# A minute of it, without Ractors, which may crash by themselves. Not part of check: stock MRI fails
# in it, too, now and then.
check-torture: tested
	+$(Q) RACTORS=0 $(MAKE) torture RUBY=build/ruby/ruby SECONDS=60

# The same while heapprof reads all of its processes, and is killed. TORTURE_SECONDS= SEED=
TORTURE_SECONDS = 1800

check-attached: RUBY = build/ruby/ruby
check-attached: tested heapprof
	$(Q) RACTORS=0 $(RUBY_LIBRARY) $(RUBY) --disable-gems test/torture/attached $(TORTURE_SECONDS) $(RUBY) \
		$(CURDIR)/$(CLI_PROGRAM) $(SEED)

check-upstream-core: tested
	+$(Q) test/upstream/run core

check-upstream: released
	+$(Q) test/upstream/run

# Of these one test file in PART, drawn anew each time. PART=1: all. SEED=N: those that N has drawn.
check-upstream-barriers check-upstream-graph check-upstream-compact: PART = 4

check-upstream-barriers: released
	+$(Q) test/upstream/run barriers $(PART) $(SEED)

check-upstream-graph: tested checked
	+$(Q) test/upstream/run graph $(PART) $(SEED)

check-upstream-fixes: installed
	$(Q) $(prefix)/bin/ruby test/upstream/fixes.rb $(SOURCES)

check-upstream-compact: released
	+$(Q) test/upstream/run compact $(PART) $(SEED)

# Programs from RubyGems (doc/programs.md). PROGRAMS=WORD: those in whose title the word is.
PROGRAMS =

check-programs: installed
	$(Q) $(prefix)/bin/ruby test/programs/run $(PROGRAMS)

# Somebody with a Rails application that grows types two commands.
check-first-use: installed
	$(Q) $(prefix)/bin/ruby test/first_use/run

# Leaks of released gems (doc/leaky-gems.md). ENGINE=valgrind: by Valgrind.
ENGINE = vm

# Faults that are in the latest releases of gems, and the patches that mend them.
check-gem-bugs: installed
	$(Q) $(prefix)/bin/ruby test/gem_bugs/run $(prefix)/bin/heapprof

check-leaky-gems: installed
	$(Q) $(prefix)/bin/ruby test/leaky_gems/run $(prefix)/bin/heapprof $(ENGINE)

# The table of doc/barriers-gems.md, from RubyGems. Fails if a finding is not judged.
barriers-gems: heapprof installed
	$(Q) $(prefix)/bin/ruby test/barriers/gems_table $(prefix)/bin/heapprof

# puma under load, with profiles by timer, by signal and over HTTP at once.
SERVER_SECONDS = 10

check-server: installed
	$(Q) $(prefix)/bin/ruby test/programs/server/run $(SERVER_SECONDS)

# HAProxy, nginx and Caddy in front of puma and heapprof serve: who is answered. As root.
check-proxies: installed
	$(Q) $(prefix)/bin/ruby test/proxies/run

# memlab, sheap and heapy on what heapprof graph convert makes.
check-heaps: installed heapprof
	$(Q) HEAPPROF=$(CURDIR)/$(CLI_PROGRAM) $(prefix)/bin/ruby test/heaps/run

# The files of lib/heapprof that label what gems do, with those gems, in two major versions. LABELS=FILE...: these tests.
LABELS =

check-labels: installed
	$(Q) $(prefix)/bin/ruby test/labels/run $(LABELS)

# What the guides in doc/ say, word for word (test/guides/run has the list). GUIDES=NAME: that one.
GUIDES =

check-guides: installed
	$(Q) $(prefix)/bin/ruby test/guides/run $(GUIDES)

# As users install it (doc/install.md).
check-dist: dist
	$(Q) test/install/dist build/dist/ruby-*-heapprof-*.tar.gz

check-deb: deb
	$(Q) test/install/deb build/dist/ruby-heapprof_*.deb

check-barriers-package: dist-barriers
	$(Q) test/install/barriers build/dist

check-gems: installed
	$(Q) test/install/gems $(prefix)/bin

# ---- the rooms of plain C, without MRI: unit tests, sanitizers, fuzzing ----
#
# One set of rules. What runs under a sanitizer is made by the same rules in a directory of its own:
# UNIT says where, SANITIZE with what (compiler's -fsanitize=), and make calls itself. Threads' races
# are looked for where there are threads.

UNIT = build/unit
SANITIZE =
SANITIZER = $(SANITIZE:%=-fsanitize=% -fno-sanitize-recover=all -DHEAPPROF_MEM_GUARD=1)
UNDEFINED = undefined,float-cast-overflow,float-divide-by-zero
UNIT_FLAGS = -O1 -g -Wall -Wextra -Werror -DHEAPPROF_CHECK=1 $(SANITIZER)
UNIT_COMPILE = $(CXX) $(UNIT_FLAGS) -std=gnu++17 -iquote $(PLAIN_SRC) -MMD -MP
UNIT_SOURCES = $(wildcard test/unit/*/*_test.cc)
UNIT_TESTS = $(UNIT_SOURCES:test/unit/%.cc=$(UNIT)/%)

PLAIN_ROOMS = base os pprof profiler report unwind attach dump graph memcheck cli
PLAIN_SRC = .
PLAIN_OBJ = $(UNIT)
PLAIN_UPB = build/src/upb
PLAIN_CC = $(CC) $(UNIT_FLAGS)
PLAIN_SCRIPTS = scripts
include scripts/plain.mk

# The tests have a main of their own; of the program they have what needs nothing else of it.
UNIT_OBJS = $(filter-out $(UNIT)/cli/%,$(PLAIN_OBJS)) $(foreach part,request wanted admission queue confine worker door,$(UNIT)/cli/serve/$(part).o)

CLI_LINK = $(CC) $(SANITIZER)
include scripts/program.mk

check-unit: $(UNIT_TESTS)
	@scripts/run-unit $(UNIT_TESTS)

# Only compiled and linked.
units: $(UNIT_TESTS)

# Those of which something needs glibc's own malloc. check-asan runs the others.
check-unit-malloc: UNIT_SOURCES = $(shell grep -l __SANITIZE_ADDRESS__ test/unit/*/*_test.cc)
check-unit-malloc: $(PLAIN_UPB)/.sha256
	+$(Q) $(MAKE) check-unit UNIT_SOURCES='$(UNIT_SOURCES)'

check-sanitizers: check-asan check-tsan

check-asan units-asan: SANITIZE = address,$(UNDEFINED)
check-tsan units-tsan: SANITIZE = thread
check-tsan units-tsan: UNIT_SOURCES = $(shell grep -lE '<(thread|pthread\.h)>' test/unit/*/*_test.cc)
check-asan check-tsan: $(PLAIN_UPB)/.sha256
	+$(Q) GTEST_BRIEF=1 $(MAKE) check-unit UNIT=build/unit-$(@:check-%=%) SANITIZE=$(SANITIZE) \
		UNIT_SOURCES='$(UNIT_SOURCES)'

units-asan units-tsan: $(PLAIN_UPB)/.sha256
	+$(Q) $(MAKE) units UNIT=build/unit-$(@:units-%=%) SANITIZE=$(SANITIZE) UNIT_SOURCES='$(UNIT_SOURCES)'

# What test/attach reads hostile memory with; built with sanitizers.
HOSTILE = build/unit-asan/hostile_reader

hostile: $(PLAIN_UPB)/.sha256
	+$(Q) $(MAKE) $(HOSTILE) UNIT=$(patsubst %/,%,$(dir $(HOSTILE))) SANITIZE=address,$(UNDEFINED)

$(UNIT)/hostile_reader: test/attach/hostile_reader.cc $(UNIT_OBJS) | unit-tools
	$(ECHO) linking $@
	$(Q) $(UNIT_COMPILE) -o $@ $< $(UNIT_OBJS) -lz -lm $(CLI_EXPAT)

$(UNIT)/%_test: $(UNIT)/%_test.o $(UNIT_OBJS)
	$(ECHO) linking $@
	$(Q) $(CXX) $(SANITIZER) -o $@ $< $(UNIT_OBJS) -lgtest_main -lgtest -lpthread -lz -lm $(CLI_EXPAT)

$(UNIT)/%_test.o: test/unit/%_test.cc | unit-tools
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(UNIT_COMPILE) -O0 -c -o $@ $< # under a sanitizer -O1 takes three times as long, and what is tested is C

unit-tools:
	@scripts/unit-tools $(CXX) gtest/gtest.h libgtest-dev

# ---- fuzzing: test/fuzz, by libFuzzer, which comes with clang ----

FUZZ_SECONDS = 60
FUZZ_TARGETS = $(patsubst test/fuzz/%.cc,$(UNIT)/%,$(wildcard test/fuzz/*_fuzz.cc))

fuzz fuzz-corpus fuzz-build: $(PLAIN_UPB)/.sha256
	@scripts/unit-tools clang++ fuzzer/FuzzedDataProvider.h libclang-rt-dev
	+$(Q) $(MAKE) run-$@ UNIT=build/fuzz SANITIZE=fuzzer,address,$(UNDEFINED) \
		CC=clang CXX=clang++

run-fuzz-build: $(FUZZ_TARGETS)

run-fuzz: $(FUZZ_TARGETS)
	@scripts/run-fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# Keeps of what was found since what runs code that no kept input runs, and names it by that code.
run-fuzz-corpus: $(FUZZ_TARGETS)
	@$(BASERUBY) scripts/fuzz-corpus $(FUZZ_TARGETS)

$(UNIT)/%_fuzz: $(UNIT)/%_fuzz.o $(UNIT_OBJS)
	$(ECHO) linking $@
	$(Q) $(CXX) $(SANITIZER) -o $@ $< $(UNIT_OBJS) -lz -lm $(CLI_EXPAT)

$(UNIT)/%_fuzz.o: test/fuzz/%_fuzz.cc
	@mkdir -p $(@D)
	$(ECHO) compiling $<
	$(Q) $(UNIT_COMPILE) -c -o $@ $<

.PHONY: check check-build check-bare check-packages check-rooms check-cli check-aarch64 check-emulated heapprof-aarch64 ruby-aarch64
.PHONY: check-barriers
.PHONY: check-graph-answers
.PHONY: check-barriers-mutation check-memcheck check-memcheck-extensions check-memcheck-objects check-memcheck-core
.PHONY: check-attach hostile check-viewers check-view check-view-rails bench-view screens pictures check-ruby
.PHONY: check-checked check-debug check-full check-upstream-core check-upstream-compact
.PHONY: check-accuracy check-large check-upstream check-descriptor-aarch64
.PHONY: check-descriptor-variants check-upstream-barriers check-upstream-graph
.PHONY: check-upstream-fixes check-programs check-first-use check-server check-proxies check-heaps check-labels check-guides
.PHONY: barriers-gems check-dist check-barriers-package check-deb check-gems check-gem-bugs check-leaky-gems units units-asan units-tsan check-unit
.PHONY: check-unit-malloc check-sanitizers check-asan check-tsan unit-tools torture
.PHONY: check-torture check-attached fuzz fuzz-corpus fuzz-build run-fuzz run-fuzz-corpus
.PHONY: run-fuzz-build check-status help
