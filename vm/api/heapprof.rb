module ObjectSpace
  # A profile of the live heap: which code allocated the objects that are alive, how many
  # of which class, in how many bytes, and for how many garbage collections they have
  # survived.
  #
  # While it runs, the collector itself samples objects, one for every +interval+ bytes
  # allocated on average and chosen at random, and follows each until it is freed. Every
  # value of a profile is an estimate of the true number: a sample stands for all the
  # objects like it that were passed over. With an interval of 1 every object is sampled
  # and the values are exact. Space is that of the slots, and the memory that was asked
  # of the allocator (xmalloc and its like), which is sampled by its own bytes.
  #
  #   ObjectSpace::HeapProfile.start
  #   serve_requests
  #   profile = ObjectSpace::HeapProfile.snapshot(gc: true)
  #   profile.write("heap.pb.gz")        # go tool pprof -http=: heap.pb.gz
  #   profile.max_by(10, &:inuse_space).each do |sample|
  #     puts "#{sample.inuse_space} #{sample.class_name} #{sample.frames.first}"
  #   end
  #   ObjectSpace::HeapProfile.stop
  #
  # A profile is frozen, and ractors may share it.
  #
  # The environment variable +RUBY_HEAPPROF+ does all this without a change of the program.
  #
  # Only C Ruby built with the heap profiler has this class.
  class HeapProfile
    include Enumerable

    # call-seq:
    #   start(interval: 524_288, malloc_interval: interval, malloc: :ruby, depth: 512, memory: 67_108_864, seed: nil, every: nil, signal: nil, keep: 10, out: nil, owners: true, rss: true) -> true
    #
    # Starts sampling, with nothing recorded.
    #
    # [interval] Mean bytes of slots between samples, 1 to 2**40; or +:auto+: 4096 at first. Whenever
    #            more than 40,000 samples are alive it doubles, and they are thinned; it halves, not
    #            below 4096, when a major GC finds less than 10,000.
    # [malloc_interval] Mean bytes asked of the allocator between samples, up to 2**40; 0: none
    #                   are sampled.
    # [malloc] Whose requests count: +:ruby+, what asks MRI's own allocator; +:all+, also what
    #          calls malloc itself, as C extensions and libraries do (Linux with glibc only).
    # [depth] Frames kept per stack, innermost first, 1 to 65535.
    # [memory] Bytes the profiler may use for its own tables, at least 2**20. When they
    #          are used up, the interval doubles, and what has been sampled is thinned to what
    #          the larger one would have taken: all estimates stay without bias, as if it had
    #          been there from the start. stat and the profile tell how often.
    # [seed] An Integer for reproducible samples; from the system when +nil+.
    #
    # [every] Seconds between two files that are written while the program runs, 0.1 to 604800; +nil+: none are.
    # [signal] A signal that has such a file written: "USR1", "USR2", "HUP", "QUIT", "ALRM", "PROF", "WINCH",
    #          "URG", "IO", "PWR", "TTIN" or "TTOU"; a String or Symbol. Until stop it does nothing else. One that
    #          the program traps is refused; if it is trapped later, it is the program's from then on.
    # [keep] How many of these files are kept, up to 100000: the first, the newest, and of those between them the more the
    #        newer they are; 0: all are kept, 1: the newest.
    # [out] Their names, as in +RUBY_HEAPPROF+: %p pid, %e program, %t time, %n number, %%; relative to the
    #       directory that is current now. "heapprof-%p-%n.pb.gz" when +nil+.
    #
    # [owners, rss] What these files have besides (see snapshot).
    #
    # They have what the last garbage collection left alive. A native thread writes them, which is in no list of threads. A process that sleeps
    # writes, too; one in a call that neither ends nor lets itself be interrupted does when that is over.
    #
    #   ObjectSpace::HeapProfile.start(every: 60, signal: "USR2", out: "/var/tmp/%e-%p-%n.pb.gz")
    #
    # Raises RuntimeError when running already, ArgumentError for a value out of range, SystemCallError when there
    # could be no file named +out+.
    def self.start(interval: default("interval"), malloc_interval: nil, malloc: :ruby,
                   depth: default("depth"), memory: default("memory"), seed: nil,
                   every: nil, signal: nil, keep: default("keep"), out: nil, owners: true, rss: true)
      Primitive.heapprof_start(interval, malloc_interval, malloc, depth, memory, seed, every, signal, keep, out,
                               owners, rss)
    end

    # The number that RUBY_HEAPPROF=1 has for that key.
    def self.default(key) # :nodoc:
      Primitive.heapprof_default(key)
    end
    private_class_method :default

    # call-seq:
    #   stop -> nil
    #
    # Stops sampling and forgets all samples; snapshots stay. Does nothing when not running.
    #
    #   ObjectSpace::HeapProfile.stop
    #   ObjectSpace::HeapProfile.running?   # => false
    def self.stop
      Primitive.heapprof_stop
    end

    # call-seq:
    #   running? -> true or false
    #
    #   ObjectSpace::HeapProfile.start
    #   ObjectSpace::HeapProfile.running?   # => true
    def self.running?
      Primitive.heapprof_running_p
    end

    # call-seq:
    #   interval = bytes
    #
    # Samples with another interval from now on, 1 to 2**40 or +:auto+ (see start), without a stop: what was sampled
    # keeps its weight, so that all values stay estimates of the true numbers. Memory of the
    # allocator is sampled so, too, unless it has a +malloc_interval+ of its own.
    # <tt>stat(:interval_bytes)</tt> has the interval in force.
    #
    #   ObjectSpace::HeapProfile.interval = 4096         # a closer look, for a while
    #   ObjectSpace::HeapProfile.stat(:interval_bytes)   # => 4096
    #
    # Raises ArgumentError for a value out of range, RuntimeError when not running.
    def self.interval=(bytes)
      Primitive.heapprof_set_interval(bytes)
    end

    # call-seq:
    #   snapshot(gc: false, owners: false, rss: false, native_leaks: false) -> heap_profile
    #
    # The profile at this moment. Without +gc+ it has what the last garbage collection
    # left alive and all that was allocated since; with it, a full garbage collection runs
    # first and only what is reachable is in use. Other threads may run before the moment, while the
    # names of C functions not seen before are read from files.
    #
    # With +owners+ it walks the heap, and each row of memory of the allocator names the class
    # of the object that holds it, and the stack that allocated that object where it is
    # sampled. Known are the blocks of String, Array, Hash, Struct, Integer, Regexp, MatchData and
    # IO, those of instance variables, classes and code, and the struct of an object that an
    # extension defines. What no object holds, but the VM's own tables do, has a name in place of a
    # class, as "[VM] interned strings". Each sampled object's memsize is asked as well. The walk
    # takes some 10 ms for a million objects, in slices between which other threads run.
    #
    # With +rss+ it has rows, too, for what is in memory: "[VM] slots", "[VM] free slots" and so
    # on, each a stack of one frame. These have +rss_space+ and nothing else; together it is the
    # resident set size of the process, to the byte. It is another account of the memory that the
    # samples' rows are about, not to be added to theirs.
    #
    # With +native_leaks+ it looks for owners, and marks rows of memory of the allocator that looks
    # leaked: nobody known holds it, it has survived three major garbage collections and grew
    # meanwhile, and no objects of that stack did. For that it also reads what the structs of
    # extensions' objects and the variables of libraries seem to lead to by C pointers: such memory
    # has the object's class as its owner, or "[C] libxml2.so.2". More than 256 MB are not read:
    # then nothing is suspect. It is a suspicion: objects that grow with the memory may be too few
    # to be sampled.
    #
    #   ObjectSpace::HeapProfile.snapshot(gc: true, owners: true, rss: true).write("heap.pb.gz")
    #
    # Raises RuntimeError when not running.
    def self.snapshot(gc: false, owners: false, rss: false, native_leaks: false)
      Primitive.heapprof_snapshot(gc, owners, rss, native_leaks)
    end

    # call-seq:
    #   profile(out: nil, gc: true, owners: false, rss: false, native_leaks: false, **options) { ... } -> heap_profile
    #
    # Profiles the block: starts with the options of start, runs it, takes a snapshot (after
    # a full garbage collection unless +gc+ is false) and stops, also when the block raises.
    # Writes the snapshot to +out+ if given (see write).
    #
    # What the profile shows in use is what the block allocated and left reachable.
    #
    #   profile = ObjectSpace::HeapProfile.profile(interval: 1) { $index = Array.new(1000) { Object.new } }
    #   profile.select { |sample| sample.class_name == "Object" }.sum(&:inuse_objects)   # => 1000
    def self.profile(out: nil, gc: true, owners: false, rss: false, native_leaks: false, **options)
      raise ArgumentError, "a block is needed: what should be profiled?" unless block_given?
      start(**options)
      begin
        yield
        profile = snapshot(gc: gc, owners: owners, rss: rss, native_leaks: native_leaks)
      ensure
        stop
      end
      profile.write(out) if out
      profile
    end

    # call-seq:
    #   native_leaks { ... } -> array
    #
    # What C extensions have lost while the block ran, as NativeLeak objects, the most bytes first: memory of malloc that they
    # asked for, that has not been freed, and that nothing leads to any more, neither an object, nor a variable of C, nor a stack. Empty when
    # nothing is lost. What Ruby itself has lost is not told.
    #
    #   require "zlib"
    #   leaks = ObjectSpace::HeapProfile.native_leaks { 100.times { Zlib.deflate("text") } }
    #   puts leaks   # what they are, as heapprof memcheck prints it
    #
    # For tests there are <tt>heapprof/minitest</tt> (assert_no_native_leak) and <tt>heapprof/rspec</tt> (leak_natively).
    #
    # The profiler is started for the block, with each request of malloc sampled, by all threads, and stopped after it. Then, after a full
    # garbage collection, the process forks: in the child Ruby frees all that is its own, and what is left
    # is searched for. The child runs no Ruby code, neither +at_exit+ blocks nor finalizers; but the functions by which extensions free their
    # objects. Descriptors are none of the program's there: what such a function writes goes nowhere. But what it does to files
    # by their names, or to other processes, is done. A handler of SIGCHLD sees the child end.
    #
    # The search is conservative: a word that only looks like an address counts as one, so now and then a block that is lost is not
    # found. Memory to which only a number leads (an Integer, or an address with some bits changed) counts as lost.
    #
    # Under <tt>heapprof memcheck</tt> it does the same with the profiler that runs there; but with <tt>--engine=valgrind</tt>
    # it is Valgrind that judges, at the end, and this calls the block and returns an empty Array.
    #
    # Otherwise raises RuntimeError when the profiler runs already (so it cannot be nested), is stopped in the block, or there
    # are other Ractors; when the child is ended before its time, as it is after two minutes, or there are too many
    # blocks to know each. NotImplementedError where <tt>malloc: :all</tt> cannot be (see start). What the block raises is
    # passed on, and nothing is told.
    def self.native_leaks
      raise ArgumentError, "a block is needed: what could leak?" unless block_given?
      started = Primitive.heapprof_native_leaks_start
      frame = Primitive.heapprof_native_leaks_frame
      begin
        GC.start if started == false
        since = GC.count
        yield
        return [] if started.nil?
        GC.start
        list, out = IO.pipe(binmode: true)
        fd = out.fileno
        child = Primitive.heapprof_native_leaks_fork(fd, frame, since)
        out.close
        stop if started
        text = list.read
      ensure
        stop if started
        list&.close
        out&.close
        status = end_child(child, text) if child
      end
      NativeLeak.all_in(text, status)
    end

    # Without its list it is not needed any more. Somebody else may have waited for it: then there is no status.
    def self.end_child(child, list) # :nodoc:
      Process.kill(:KILL, child) unless list
      Process::Status.wait(child)
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end
    private_class_method :end_child

    # call-seq:
    #   load(path, limit: 268_435_456) -> heap_profile
    #   load(io, limit: 268_435_456) -> heap_profile
    #
    # The profile in a file that write, +RUBY_HEAPPROF+ or <tt>heapprof merge</tt> has made, or in what an IO, or
    # anything else with +read+, still has to give: +pprof+'s format, compressed by gzip or not. The profiler need not run.
    #
    # It has all that was written, but for frames further out of +owner_frames+ than the first. Values and
    # labels that no Sample has are passed over; so heap profiles of others (Go's) can be loaded, too. Their space counts as
    # that of slots.
    #
    # [limit] Bytes, unpacked, beyond which a file is refused. While it is read memory may be used in
    #         proportion to this.
    #
    #   yesterday = ObjectSpace::HeapProfile.load("yesterday.pb.gz")
    #   (ObjectSpace::HeapProfile.load("today.pb.gz") - yesterday).report
    #
    # Raises ArgumentError for what is no profile, is none of a heap, or is damaged, with what is wrong in one line.
    def self.load(path_or_io, limit: 268_435_456)
      if IO === path_or_io || (path_or_io.respond_to?(:read) && !path_or_io.respond_to?(:to_path))
        Primitive.heapprof_load(path_or_io, limit, nil)
      else
        File.open(File.path(path_or_io), "rb") { |file| Primitive.heapprof_load(file, limit, file.path) }
      end
    end

    # call-seq:
    #   allocation_stack(object) -> array of frames or nil
    #
    # The stack that allocated the object, an Array of Frame (path, lineno, label),
    # innermost first. +nil+ when the object is not sampled, or nothing runs.
    #
    #   ObjectSpace::HeapProfile.start(interval: 1)
    #   ObjectSpace::HeapProfile.allocation_stack(Object.new).first.label   # => "Class#new"
    def self.allocation_stack(object)
      Primitive.heapprof_allocation_stack(object)
    end

    # call-seq:
    #   stat -> hash
    #   stat(key) -> integer
    #
    # Numbers about the profiler itself, all 0 when it is not running:
    #
    # [:interval_bytes] the interval in force
    # [:malloc_interval_bytes] the same, of the allocator's bytes
    # [:malloc_all] 1 with <tt>malloc: :all</tt>
    # [:live_samples] sampled objects not freed yet
    # [:total_samples] samples taken since start
    # [:dropped] samples given up because the system refused memory, or thinning could not make room; and of what was asked for without the global
    #            VM lock, beyond what can wait for somebody to enter it
    # [:folded] sites of dead objects that were given up for want of memory: others stand for them
    # [:truncated] stacks cut at +depth+ frames
    # [:sites] pairs of a stack and a class known
    # [:stack_nodes] nodes of the tree of stacks
    # [:functions] functions known
    # [:memory_used, :memory_peak, :memory_budget] bytes of the profiler's own tables
    # [:doublings] how often both intervals were doubled because the budget was used up
    # [:dead_functions, :dead_stack_nodes, :dead_sites] how many functions, nodes and sites are of code that is no more (eval, templates, what
    #            has been loaded and run), or of classes that are no more. With these, +stat+ takes time in proportion to what is known
    # [:merged_sites] sites of dead code, since start, that were added to others of the same name, path and line
    # [:nameless_sites] the same: they are counted under [dead code] or [dead class] now, because there were too many names
    #
    # And what the resident memory of the process consists of, whether the profiler is running
    # or not. These are measured when asked for by key or with <tt>rss: true</tt>. All but the
    # last add up to the first:
    #
    # [:rss] the resident set size
    # [:rss_slots, :rss_free_slots, :rss_page_overhead] the heap: slots in use, free slots, the
    #                                                   rest of its pages
    # [:rss_iseqs, :rss_method_tables, :rss_symbols] compiled code, tables of classes and modules,
    #                                                of symbols and interned strings; outside slots
    # [:rss_malloc, :rss_allocator_slack] all else that the allocator has given out; what it keeps
    # [:rss_stacks] machine and VM stacks of threads and fibers
    # [:rss_jit_code, :rss_profiler, :rss_files] generated code; the profiler's tables; the
    #                                            executable, libraries and other mapped files
    # [:rss_unexplained] the rest
    # [:rss_absent] asked of the allocator and not in memory, as a buffer that has room; unexplained
    #               memory up to as much may pass for :rss_malloc
    #
    #   ObjectSpace::HeapProfile.start(interval: 8192)
    #   ObjectSpace::HeapProfile.stat(:interval_bytes)       # => 8192
    #   ObjectSpace::HeapProfile.stat[:interval_bytes]       # => 8192
    #   ObjectSpace::HeapProfile.stat(:rss).positive?        # => true
    def self.stat(key = nil, rss: false)
      if key.nil?
        return rss ? Primitive.heapprof_stat.merge!(Primitive.heapprof_rss) : Primitive.heapprof_stat
      end
      raise TypeError, "non-symbol given" unless Symbol === key
      value = Primitive.heapprof_stat_of(key) || Primitive.heapprof_rss_of(key)
      value or raise ArgumentError, "unknown key: #{key}"
    end

    # call-seq:
    #   each {|sample| ... } -> self
    #   each -> enumerator
    #
    # Calls the block with each row of the profile, a Sample:
    #
    # [kind] what the row is of: +:objects+ of a class; +:malloc+, memory of the allocator; +:rss+,
    #        in the rows that +rss+ adds. Of the values below objects have those of objects and
    #        slots, memory of the allocator those of malloc, and the last rss_space alone
    # [class_name] of objects, a String such as "Foo::Bar"; "#<Class < Foo>" for a class without a
    #              name; "T_IMEMO(iseq)", "T_ARRAY(hidden)" for what only the VM sees; "" in a row
    #              of another kind
    # [caller] of memory of the allocator, the C function that asked for it, and its library:
    #          "str_enc_new (ruby)"; "" when that is not known; otherwise +nil+
    # [frames] Array of Frame (path, lineno, label), innermost first, as in a backtrace
    # [owner, owner_frames] of memory of the allocator, the class name of the object that holds the memory (or
    #                       what else does, see snapshot) and
    #                       the stack that allocated it; +nil+ when not known (see snapshot)
    # [native_leak] whether the memory looks leaked; +false+ without +native_leaks+ (see snapshot)
    # [gc_age] GCs survived, rounded down to 0 or a power of two; +nil+ in the row of what
    #          is dead, and in one of the VM
    # [inuse_objects] alive at the snapshot
    # [inuse_slot_space, inuse_malloc_space] bytes of their slots, of the allocator
    # [inuse_space] bytes of both
    # [alloc_objects, alloc_slot_space, alloc_malloc_space, alloc_space] allocated since start
    # [rss_space] bytes in memory, in the rows that +rss+ adds
    # [memsize] bytes that ObjectSpace.memsize_of has for the sampled objects themselves, which is
    #           no estimate for all; 0 without +owners+
    #
    # Rows with the same class and frames differ in gc_age; each value adds up.
    #
    #   by_class = profile.group_by(&:class_name).transform_values { |rows| rows.sum(&:inuse_space) }
    #   by_class.values.sum == profile.sum(&:inuse_space)   # => true
    def each
      Primitive.attr! :use_block
      return to_enum(:each) { Primitive.heapprof_row_count } unless block_given?
      Primitive.heapprof_each
    end

    # call-seq:
    #   profile - earlier -> heap_profile
    #
    # What changed since an earlier profile, of this run or another: each value is the
    # difference, and may be negative. Rows that differ in their age alone are one, with a gc_age
    # of +nil+, and what has not changed is left out. Owners, memsize and rss are compared if both
    # profiles have them, and are otherwise in neither. What a profile itself occupies is no
    # growth: it is not sampled.
    #
    #   before = ObjectSpace::HeapProfile.snapshot(gc: true)
    #   serve_requests
    #   grown = ObjectSpace::HeapProfile.snapshot(gc: true) - before
    #   grown.max_by(10, &:inuse_space)
    def -(earlier)
      Primitive.heapprof_minus(earlier)
    end

    # call-seq:
    #   write(path, by: :inuse_space) -> integer
    #   write(io, by: :inuse_space) -> integer
    #
    # Writes the profile in the format of +pprof+, compressed by gzip, and returns the
    # number of bytes. A file appears under its name only when it is complete; nobody but its
    # owner may read it, and a link in a directory that others may write to is not followed
    # (Errno::ELOOP). The work is done without the global VM lock.
    #
    # An IO gets the bytes as they are, whatever encoding it was opened with. What else has
    # +write+ is called with a binary String.
    #
    # [by] The sample type that <tt>go tool pprof</tt> shows first; all of them are in the profile.
    #
    #   profile.write("heap.pb.gz")
    #   profile.write("allocated.pb.gz", by: :alloc_space)
    def write(path_or_io, by: :inuse_space)
      if IO === path_or_io && !path_or_io.binmode?
        write_binary(path_or_io, Primitive.heapprof_encode(by))
      elsif path_or_io.respond_to?(:to_io) ||
            (path_or_io.respond_to?(:write) && !path_or_io.respond_to?(:to_path))
        path_or_io.write(Primitive.heapprof_encode(by))
      else
        Primitive.heapprof_write_path(path_or_io, by)
      end
    end

    # call-seq:
    #   to_pprof(by: :inuse_space) -> string
    #
    # The bytes that write would put into a file.
    #
    #   profile.to_pprof == File.binread("heap.pb.gz")   # => true
    def to_pprof(by: :inuse_space)
      Primitive.heapprof_encode(by)
    end

    # call-seq:
    #   to_collapsed(by = :inuse_space) -> string
    #
    # The stacks as lines, the outermost function first, each with its value: what flamegraph.pl, speedscope and many
    # others read. What is not above 0 is left out.
    #
    #   File.write("heap.collapsed", profile.to_collapsed)
    #   profile.to_collapsed(:alloc_objects).lines.first   # "main;Cart#load;Array#map 17\n", for instance
    def to_collapsed(by = :inuse_space)
      Primitive.heapprof_collapsed(by)
    end

    # call-seq:
    #   report(io = $stdout, by: :inuse_space, group: nil, limit: 20, frames: 3, app: true, focus: nil, ignore: nil, width: nil, rss: false) -> nil
    #
    # Prints the largest rows as a table, the same that <tt>heapprof top</tt> shows of the file: the value, how far
    # it may be off, its share, the sum of the shares so far, how many objects it is in, and their mean age in
    # garbage collections. 1 MB is 2**20 bytes. The true value is within the error 19 times out of 20; a row that is no more
    # than that is marked with "~". Of a difference, which keeps both profiles for this, it is the table of <tt>heapprof
    # diff</tt>: what grew most comes first, and what shrank last.
    #
    # [by] The sample type.
    # [group] What a row is of: +:site+, class, or C caller and owner, and the whole stack; +:function+, +:class+, +:file+,
    #         +:gem+; +:app+, the innermost line of the application's own code; "label:KEY", any label of
    #         the file. +nil+: first by line of the application, then by site.
    # [limit] How many rows; 0: all.
    # [frames] How many frames of a site, the innermost. The first one further out that is the application's follows
    #          them, marked "app:".
    # [app] Where the application's own code is: a String or Pathname, or an Array of such, for what lies below these directories.
    #       Gems and Ruby's own library that lie below do not count. +true+: the directory that the program started
    #       in. +nil+ or +false+: nowhere.
    # [focus, ignore] Only samples with a frame whose function or file matches, or without one that does: Strings,
    #                 POSIX extended regular expressions.
    # [width] Columns; 0: lines are as long as they are. +nil+: those of the terminal that +io+ is, or of COLUMNS. Colours are
    #         for a terminal alone, and not where NO_COLOR is set.
    # [rss] Also, and first, what the resident memory consists of, and which share is unexplained; of a profile
    #       that was taken so.
    #
    #   profile.report(group: :class, limit: 5)
    #   (after - before).report(focus: "Cart#")
    def report(io = $stdout, by: :inuse_space, group: nil, limit: 20, frames: 3, app: true,
               focus: nil, ignore: nil, width: nil, rss: false)
      columns, colour = Primitive.heapprof_terminal(io)
      text = Primitive.heapprof_report(by, group&.to_s, limit, frames, report_directories(app), focus, ignore,
                                       width || columns, colour)
      report_rss(io) if rss
      io.write(text)
      nil
    end

    # call-seq:
    #   profile == other -> true or false
    #
    # Whether the other is a profile with the same rows, in any order and whenever it was taken. Rows that look alike
    # count as one, and of +owner_frames+ the first: so a profile is equal to the one that is loaded from its file.
    #
    #   ObjectSpace::HeapProfile.load("heap.pb.gz") == profile   # => true
    def ==(other)
      Primitive.heapprof_equal(other)
    end
    alias eql? ==

    # call-seq:
    #   hash -> integer
    #
    # The same number for profiles that are equal.
    #
    #   { profile => "today" }[ObjectSpace::HeapProfile.load("heap.pb.gz")]   # => "today"
    def hash
      Primitive.heapprof_content_hash
    end

    # call-seq:
    #   inspect -> string
    #
    # What it adds up to. 1 MB is 2**20 bytes.
    #
    #   profile.inspect             # "#<ObjectSpace::HeapProfile 12.3 MB in use, 1234 samples, interval 512k>"
    #   (profile - before).inspect  # "#<ObjectSpace::HeapProfile grew by 1.2 MB, interval 512k>"
    def inspect
      "#<#{self.class} #{Primitive.heapprof_summary}>"
    end

    private

    # What IO#write does, but for its conversions.
    def write_binary(io, bytes)
      io.flush
      written = 0
      while written < bytes.bytesize
        begin
          written += io.syswrite(bytes.byteslice(written..))
        rescue Errno::EAGAIN
          io.wait_writable
        end
      end
      written
    end

    # In lines; nil: what the profile says.
    def report_directories(app)
      return if app == true
      [app].flatten.select(&:itself).map { |directory| real_path(directory) }.join("\n")
    end

    def real_path(path)
      path = File.expand_path(path)
      File.realpath(path).b
    rescue SystemCallError
      path.b
    end

    def report_rss(io)
      rungs = Primitive.heapprof_ladder
      raise ArgumentError, "no rss in this profile; take it with snapshot(rss: true)" if rungs.empty?
      rss = rungs.sum { |_, bytes| bytes }
      rungs.each { |name, bytes| io.puts format("%19d %5.1f%%  %s", bytes, 100.0 * bytes / rss, name) }
      io.puts format("%19d 100.0%%  in memory (RSS)", rss), ""
    end

    class Sample
      def inuse_space = inuse_slot_space + inuse_malloc_space
      def alloc_space = alloc_slot_space + alloc_malloc_space
    end

    class Frame
      # As in a backtrace: "path:lineno:in 'label'".
      def to_s
        "#{path}:#{lineno}:in '#{label}'"
      end
    end

    # What is in lib/ is no object that each GC of every program marks.
    autoload :NativeLeak, "heapprof/native_leaks"
  end

  # The objects of the heap and what they refer to, in a file: why something is alive, and how much it keeps alive.
  #
  #   ObjectSpace::HeapGraph.dump("heap.rbgraph", gc: true)  # heapprof graph report heap.rbgraph
  #
  # The environment variable +RUBY_HEAPGRAPH+ does this without a change of the program, whenever a signal comes, as with
  # <tt>RUBY_HEAPGRAPH=signal=USR1,out=heap-%p-%n.rbgraph,max_pause=0.5</tt>:
  #
  # [signal] As in HeapProfile.start. A program that traps it later has it for itself.
  # [out] The files' names: %p pid, %e program, %t time, %n number; <tt>heap-%p-%n.rbgraph</tt> unless given.
  # [max_pause] Seconds: where the program would have to wait longer for its copy, by an estimate from its memory, there is none.
  #
  # Only C Ruby built with the heap profiler has this module.
  module HeapGraph
    # call-seq:
    #   dump(path, gc: false, fork: true, values: :none) -> integer
    #   dump(io, gc: false, fork: true, values: :none) -> integer
    #
    # Writes all objects with their classes, sizes and references, each reference by its name where it has one: an
    # instance variable, a constant, a key, an index. With them the roots, by which all that is alive is reached, and,
    # where the profiler has sampled an object, the stack that allocated it. Returns the bytes written.
    #
    # A file appears under its name, readable to its owner alone, when it is complete.
    #
    # [gc] A full garbage collection comes before, with the finalizers of what it frees, as by GC.start; otherwise what is dead and
    #      not freed yet may be in the file.
    # [fork] A child of this process writes, and the program waits only until it is there; +Process.wait+ and SIGCHLD do not tell of
    #        it. This thread waits until the file is written, others run. +false+, or where the system lets us have no
    #        child: all threads wait.
    # [values] +:none+: no contents of strings, symbols made at run time, floats or large integers are written; an
    #          Integer: the first bytes of each String; +:all+: everything.
    def self.dump(path_or_io, gc: false, fork: true, values: :none)
      Primitive.heapprof_graph_dump(path_or_io, gc, fork, values)
    end
  end
end
