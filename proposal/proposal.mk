# proposal.mk - the patch of this folder by itself, on MRI as released. README.md says what for.

# Its own prefix, for extensions that are built with it.
PROPOSAL_PREFIX = $(CURDIR)/build/proposal/installed

proposal-series:
	$(Q) scripts/proposal series

proposal-ruby:
	$(Q) scripts/proposal tree
	$(Q) scripts/configure-ruby build/proposal/ruby build/proposal/src $(CONFIGURE_ARGS) --prefix=$(PROPOSAL_PREFIX)
	+$(Q) $(MAKE) -C build/proposal/ruby

# By its path: MRI's runner takes -ext- for an option.
PROPOSAL_TESTS = ../src/test/-ext- objspace ruby/test_gc.rb ruby/test_gc_compact.rb ruby/test_objectspace.rb ruby/test_weakmap.rb

# The gem runs one program of the accuracy suite, too.
proposal-check: proposal-ruby tested
	+$(call test-all,build/proposal/ruby,$(PROPOSAL_TESTS))
	+$(Q) $(MAKE) proposal-gem-check
	$(Q) RUNS=2 ONLY='in turn, no GC 4096' $(PROPOSAL_RUBY) proposal/bench/run accuracy

# Instructions of allocation loops, with the patch over without.
proposal-off: proposal-ruby stock
	$(Q) OURS=build/proposal/ruby/ruby LEAST=0 bench/off

# ---- what is built with it: heapprof-gem, and the hooks of proposal/bench ----

PROPOSAL_RUBY = $(PROPOSAL_PREFIX)/bin/ruby
PROPOSAL_EXTENSIONS = $(CURDIR)/build/proposal/extensions

proposal-installed: proposal-ruby
	+$(Q) $(MAKE) -s -C build/proposal/ruby install -o update-gems -o extract-gems >build/proposal/install.log 2>&1 || { tail build/proposal/install.log; false; }

# $(call proposal-extension,SOURCES,NAME): into PROPOSAL_EXTENSIONS.
proposal-extension = $(Q) rm -rf build/proposal/$(2) && mkdir -p build/proposal/$(2) && cd build/proposal/$(2) && \
	$(PROPOSAL_RUBY) $(CURDIR)/$(1)/extconf.rb >configure.log && \
	$(MAKE) install sitearchdir=$(PROPOSAL_EXTENSIONS) V=$(V) >make.log 2>&1 || { cat make.log; false; }

proposal-extensions: proposal-installed
	+$(call proposal-extension,proposal/heapprof-gem/ext/heapprof_gem,gem)
	+$(call proposal-extension,proposal/bench/hooks,hooks)

PROPOSAL_GEM = $(PROPOSAL_RUBY) -I $(PROPOSAL_EXTENSIONS) -I proposal/heapprof-gem/lib

proposal-gem-check: proposal-extensions
	$(Q) $(PROPOSAL_GEM) proposal/heapprof-gem/test/test_heapprof_gem.rb

# TABLES=NAMES: of bias accuracy memory ractors off on yjit gem mri. vernier is left out where RubyGems cannot be reached.
TABLES =

proposal-bench: proposal-extensions stock tested
	$(Q) grep ^vernier bench/peers/gems >build/proposal/vernier
	$(Q) $(PROPOSAL_RUBY) -r./test/programs/lib/gems -e 'Gems.new("build/proposal/vernier", "build/proposal/gems").ready' || true
	$(Q) $(PROPOSAL_RUBY) proposal/bench/run $(TABLES)

# ---- MRI's own bugs ----

# Reports of MRI's own bugs, and whether their patches mend them. BUGS=NAMES: these alone.
BUGS =

proposal-bugs: stock
	$(Q) $(BASERUBY) proposal/bugs/report $(BUGS)

proposal-bugs-check: stock
	$(Q) $(BASERUBY) proposal/bugs/check $(BUGS)

.PHONY: proposal-installed proposal-extensions proposal-gem-check proposal-bench proposal-bugs proposal-bugs-check
.PHONY: proposal-series proposal-ruby proposal-check proposal-off
