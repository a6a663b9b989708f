# bench.mk - measurements. None of them has a limit that a slow machine breaks, except bench-off, bench-sample,
# bench-peak, bench-labels and bench-memory, which count instructions and bytes. bench/README.md says what each measures.

bench: ruby
	$(Q) bench/run

bench-off: ruby stock
	$(Q) bench/off

# Instructions of a sample, judged by bench/sample.counts.
bench-sample: ruby
	$(Q) bench/sample
	$(Q) OPTIONS='--yjit --yjit-call-threshold=10' bench/sample 20 500

# Instructions of label, and of a sample that has labels.
bench-labels: ruby
	$(Q) bench/labels

# Instructions of the peak and of lifetimes, with every object sampled; how long it takes to keep the peak.
bench-peak: ruby heapprof
	$(Q) bench/peak
	+$(Q) $(MAKE_CLI) build/cli/peak_pause
	$(Q) build/cli/peak_pause

$(UNIT)/peak_pause: bench/peak_pause.cc $(UNIT_OBJS)
	$(ECHO) linking $@
	$(Q) $(UNIT_COMPILE) -o $@ $< $(UNIT_OBJS) -lz -lm $(CLI_EXPAT)

# How long a snapshot keeps other threads waiting. PAUSEOPTS=LIVE STACKS FRAMES
PAUSEOPTS =

bench-pause: ruby
	+$(call in-ruby,bench/pause.rb $(PAUSEOPTS))

# Bytes of a sample and of a stack node, and whether estimates are right at the budget. Half a minute; some minutes with
# MEMORYOPTS='0 3400000', which are ten million names. MEMORYOPTS=OBJECTS NAMES
MEMORYOPTS =

bench-memory: ruby
	+$(call in-ruby,bench/memory.rb $(MEMORYOPTS))

# What reading a process from outside costs it, and the reader. ATTACHOPTS=ROUNDS
ATTACHOPTS =

bench-attach: ruby heapprof
	+$(call in-ruby,bench/attach.rb $(ATTACHOPTS))

# heapprof serve with 200 processes, 50 clients and 1,000 slow ones. SERVEOPTS=SECONDS
SERVEOPTS =

bench-serve: ruby heapprof
	+$(call in-ruby,bench/serve.rb $(SERVEOPTS))

# Whether the times of `heapprof record` are those of the clock and of the kernel on a busy machine, and what a look at many
# idle threads costs. TIMEOPTS=SECONDS, LOAD=BUSY_LOOPS
TIMEOPTS =

bench-time: ruby heapprof
	+$(call in-ruby,bench/time.rb $(TIMEOPTS))

# Time and memory of `heapprof graph` for a generated heap. ANALYSISOPTS=OBJECTS [--memory=SIZE], or hostile: for files that
# were made to take much memory.
ANALYSISOPTS = 10000000

bench-graph-analysis: heapprof
	+$(Q) $(MAKE) UNIT=build/cli UNIT_FLAGS='$(CLI_FLAGS)' build/cli/graph_analysis
	$(Q) build/cli/graph_analysis $(CLI_PROGRAM) $(ANALYSISOPTS)

# Objects and bytes a second of a dump of the object graph, and how long the program waits. GRAPHOPTS=OBJECTS or --pause GB...
GRAPHOPTS =

bench-graph: ruby
	+$(call in-ruby,bench/graph.rb $(GRAPHOPTS))

# Beside it dump_all, sheap, memlab and DevTools, on the same objects; sheap and memlab are where check-heaps has fetched them.
# GRAPHOPTS=OBJECTS
bench-graph-peers: installed heapprof
	$(Q) $(prefix)/bin/ruby bench/graph_peers.rb $(GRAPHOPTS)

# Instructions of a GC and of an object with so many live samples. LIVE=COUNTS
LIVE =

bench-live: ruby
	$(Q) bench/live $(LIVE)

# Instructions of real programs at each interval over off. INTERVALSOPTS=PROGRAMS
INTERVALSOPTS =

bench-intervals: installed
	$(Q) $(prefix)/bin/ruby bench/intervals $(INTERVALSOPTS)

# What finds the leaks of check-leaky-gems, what else it reports, and what it costs: our engines, and ruby_memcheck.
bench-memcheck: installed
	$(Q) $(prefix)/bin/ruby bench/memcheck/run $(prefix)/bin/heapprof

# CPU time of extensions' own tests with and without it. BENCH=NAMES: of those (test/memcheck/lib/suites.rb). ROUNDS= ENGINE=valgrind
BENCH =

bench-memcheck-tests: heapprof tested
	+$(call in-ruby,bench/memcheck/tests $(CURDIR)/$(CLI_PROGRAM) $(BENCH))

# How much of what is lost HeapProfile.native_leaks finds. ROUNDS=N: how often each way is tried.
bench-native-leaks: tested
	+$(call in-ruby,bench/native_leaks.rb)

# Ours and the gems on the same ruby (bench/peers/run). PEERS=WORDS: workloads in whose title they are.
PEERS =

bench-latency: installed
	$(Q) $(prefix)/bin/ruby bench/latency $(LATENCYOPTS)

bench-peers: installed
	$(Q) $(prefix)/bin/ruby bench/peers/run $(PEERS)

# Memory outside the slots: off, and on at the default interval.
bench-malloc: ruby stock
	$(Q) bench/off
	$(Q) ROUNDS=$${ROUNDS:-25} CHECK=1 bench/run append hash

$(UNIT)/graph_analysis: bench/graph_analysis.cc test/unit/graph/file.h
	$(ECHO) linking $@
	$(Q) $(UNIT_COMPILE) -o $@ $< -lz

.PHONY: bench bench-off bench-sample bench-peak bench-labels bench-pause bench-memory bench-live bench-intervals
.PHONY: bench-attach bench-serve bench-time bench-graph bench-graph-analysis bench-graph-peers bench-latency
.PHONY: bench-peers bench-memcheck bench-memcheck-tests bench-native-leaks bench-malloc
