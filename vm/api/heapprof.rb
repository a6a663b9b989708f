module ObjectSpace
  # A profile of the live heap: which code allocated the objects that are alive, how many
  # there are of each class, how many bytes they take, and how many garbage collections they
  # have survived.
  #
  # While the profiler runs, the collector samples objects: one for every +interval+ bytes
  # allocated, on average, chosen at random. It follows each sample until the object is freed.
  # Every value of a profile is an estimate of the true number, because a sample stands for
  # all similar objects that were passed over. With an interval of 1 every object is sampled,
  # and the values are exact. Space consists of the objects' slots and of the memory that was
  # requested from the allocator (xmalloc and its like). The latter is sampled by its own bytes.
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
    #   start(interval: 524_288, malloc_interval: interval, malloc: :ruby, depth: 512, memory: 67_108_864, seed: nil, every: nil, signal: nil, keep: 10, out: nil, owners: true, rss: true, peak: false, lifetimes: false) -> true
    #
    # Starts sampling, with nothing recorded.
    #
    # [interval] Mean bytes of slots between samples, 1 to 2**40. Or +:auto+: it is 4096 at first.
    #            When more than 40,000 samples are alive it doubles, and the samples are thinned.
    #            When a major GC finds less than 10,000 it halves, but not below 4096.
    # [malloc_interval] Mean bytes requested from the allocator between samples, up to 2**40; 0:
    #                   they are not sampled.
    # [malloc] Which requests count. +:ruby+: those to MRI's own allocator. +:all+: also direct
    #          calls of malloc, by C extensions and libraries (Linux with glibc only).
    # [depth] Frames kept per stack, innermost first, 1 to 65535.
    # [memory] Bytes that the profiler may use for its own tables, at least 2**20. When they are
    #          used up, the interval doubles, and the samples are thinned to those that the larger
    #          interval would have taken. So all estimates stay without bias, as if the interval
    #          had been larger from the start. stat and the profile tell how often this happened.
    # [seed] An Integer for reproducible samples; +nil+: from the system.
    #
    # [every] Seconds between two files that are written while the program runs, 0.1 to 604800;
    #         +nil+: no such files.
    # [signal] A signal that has such a file written: "USR1", "USR2", "HUP", "QUIT", "ALRM",
    #          "PROF", "WINCH", "URG", "IO", "PWR", "TTIN" or "TTOU", as a String or Symbol. Until
    #          stop it does nothing else. A signal that the program traps is refused. If the
    #          program traps it later, it belongs to the program from then on.
    # [keep] How many of these files are kept, up to 100000: the first, the newest, and of those
    #        between them more of the newer ones; 0: all, 1: only the newest.
    # [out] Names of these files, as in +RUBY_HEAPPROF+: %p pid, %e program, %t time, %n number,
    #       %%. They are relative to the current directory at this call. +nil+:
    #       "heapprof-%p-%n.pb.gz".
    #
    # [owners, rss] Whether these files have owners and rss (see snapshot).
    #
    # [peak] Whether profiles also have what was alive when most was alive (see peak).
    # [lifetimes] Whether profiles also have how many garbage collections the dead have survived:
    #             death_age of each Sample, and +temp_space+, what has died before its first one.
    #
    # These files show what the last garbage collection left alive. A native thread writes them,
    # which is in no list of threads. It also writes while the process sleeps. If the process is
    # in a call that cannot be interrupted, it writes when that call ends.
    #
    #   ObjectSpace::HeapProfile.start(every: 60, signal: "USR2", out: "/var/tmp/%e-%p-%n.pb.gz")
    #
    # Raises RuntimeError if the profiler is running already, ArgumentError for a value out of
    # range, and SystemCallError if no file named +out+ can be written.
    def self.start(interval: default("interval"), malloc_interval: nil, malloc: :ruby,
                   depth: default("depth"), memory: default("memory"), seed: nil,
                   every: nil, signal: nil, keep: default("keep"), out: nil, owners: true, rss: true,
                   peak: false, lifetimes: false)
      Primitive.heapprof_start(interval, malloc_interval, malloc, depth, memory, seed, every, signal, keep, out,
                               owners, rss, peak, lifetimes)
    end

    # The number that RUBY_HEAPPROF=1 sets for that key.
    def self.default(key) # :nodoc:
      Primitive.heapprof_default(key)
    end
    private_class_method :default

    ##
    # :singleton-method: stop
    # :call-seq:
    #   stop -> nil
    #
    # Stops sampling and forgets all samples. Snapshots stay valid. Does nothing if the profiler
    # is not running.
    #
    #   ObjectSpace::HeapProfile.stop
    #   ObjectSpace::HeapProfile.running?   # => false

    ##
    # :singleton-method: running?
    # :call-seq:
    #   running? -> true or false
    #
    #   ObjectSpace::HeapProfile.start
    #   ObjectSpace::HeapProfile.running?   # => true

    # call-seq:
    #   interval = bytes
    #
    # Changes the interval, 1 to 2**40 or +:auto+ (see start), without a stop. Samples that were
    # taken keep their weight, so all values stay estimates of the true numbers. It is also the
    # interval of the allocator's memory, unless that has a +malloc_interval+ of its own.
    # <tt>stat(:interval_bytes)</tt> has the current interval.
    #
    #   ObjectSpace::HeapProfile.interval = 4096         # a closer look, for a while
    #   ObjectSpace::HeapProfile.stat(:interval_bytes)   # => 4096
    #
    # Raises ArgumentError for a value out of range, RuntimeError if the profiler is not running.
    def self.interval=(bytes)
      Primitive.heapprof_set_interval(bytes)
    end

    # call-seq:
    #   snapshot(gc: false, owners: true, rss: false, native_leaks: false) -> heap_profile
    #
    # Takes the profile of this moment. Without +gc+ it has what the last garbage collection left
    # alive, and everything that was allocated since. With +gc+ a full garbage collection runs
    # first, and only reachable objects are in use. Other threads may run before the moment, while
    # names of C functions that are new are read from files.
    #
    # It looks for owners, by a walk over the heap, unless +owners+ is +false+. Then each row of the
    # allocator's memory names the class of the object that holds the memory, and the stack that
    # allocated that object if it is sampled.
    # Known are the blocks of String, Array, Hash, Struct, Integer, Regexp, MatchData and IO, those
    # of instance variables, classes and code, and the struct of an object that an extension
    # defines. Memory of the VM's own tables has a name in place of a class, such as
    # "[VM] interned strings". The memsize of each sampled object is asked as well. The walk takes
    # about 10 ms for a million objects, in slices; other threads run between them.
    #
    # With +rss+ it also has rows for all resident memory: "[VM] slots", "[VM] free slots" and so
    # on, each a stack of one frame. These rows have only +rss_space+. Their sum is the resident set
    # size of the process, to the byte. They describe the same memory as the other rows in another
    # way, and are not to be added to these.
    #
    # With +native_leaks+ it finds owners, and marks rows of the allocator's memory that looks
    # leaked: it has no known owner, has survived three major garbage collections and grew
    # meanwhile, and no objects of that stack did. To find owners it also follows C pointers from
    # the structs of extensions' objects, and from variables of libraries. Memory found so has
    # the object's class as its owner, or "[C] libxml2.so.2". At most 256 MB are read; beyond
    # that no row is marked. A mark is a suspicion: objects that grow with the memory may be too
    # few to be sampled.
    #
    #   ObjectSpace::HeapProfile.snapshot(gc: true, rss: true).write("heap.pb.gz")
    #
    # Raises RuntimeError if the profiler is not running.
    def self.snapshot(gc: false, owners: true, rss: false, native_leaks: false)
      Primitive.heapprof_snapshot(gc, owners, rss, native_leaks)
    end

    # call-seq:
    #   profile(out: nil, gc: true, owners: true, rss: false, native_leaks: false, **options) { ... } -> heap_profile
    #
    # Profiles a block. Starts with the options of start, runs the block, takes a snapshot (after a
    # full garbage collection, unless +gc+ is false) and stops, also if the block raises. Writes the
    # snapshot to +out+ if that is given (see write).
    #
    # The profile shows as in use what the block allocated and left reachable.
    #
    #   profile = ObjectSpace::HeapProfile.profile(interval: 1) { $index = Array.new(1000) { Object.new } }
    #   profile.select { |sample| sample.class_name == "Object" }.sum(&:inuse_objects)   # => 1000
    def self.profile(out: nil, gc: true, owners: true, rss: false, native_leaks: false, **options)
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
    # Returns what C extensions have lost while the block ran, as NativeLeak objects, the most
    # bytes first. Lost is memory that they requested from malloc, that has not been freed, and
    # that nothing leads to any more: neither an object, nor a C variable, nor a stack. The Array
    # is empty if nothing is lost. What Ruby itself has lost is not reported.
    #
    #   require "zlib"
    #   leaks = ObjectSpace::HeapProfile.native_leaks { 100.times { Zlib.deflate("text") } }
    #   puts leaks   # what they are, as heapprof memcheck prints it
    #
    # For tests there are <tt>heapprof/minitest</tt> (assert_no_native_leak) and
    # <tt>heapprof/rspec</tt> (leak_natively).
    #
    # The profiler runs only for the block, and samples each request of malloc, by all threads.
    # Then a full garbage collection runs, and the process forks. In the child Ruby frees all its
    # own memory, and the rest is searched. The child runs no Ruby code, neither +at_exit+ blocks
    # nor finalizers. It does run the functions by which extensions free their objects. The child
    # does not have the program's descriptors: what such a function writes to one goes nowhere.
    # But what it does to files by their names, or to other processes, is done. A handler of
    # SIGCHLD sees the child end.
    #
    # The search is conservative: a word that only looks like an address counts as one. So now and
    # then a lost block is not found. Memory to which only a number leads (an Integer, or an
    # address with some bits changed) counts as lost.
    #
    # Under <tt>heapprof memcheck</tt> it does the same with the profiler that runs there. With
    # <tt>--engine=valgrind</tt> Valgrind searches at the end of the process, and this method
    # calls the block and returns an empty Array.
    #
    # Raises RuntimeError if the profiler runs already (so calls cannot be nested), if it is
    # stopped in the block, or if there are other Ractors; also if the child is killed, as it is
    # after two minutes, or if there are too many blocks to know each. Raises NotImplementedError
    # where <tt>malloc: :all</tt> is not possible (see start). If the block raises, the exception
    # is passed on, and nothing is reported.
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
        status = NativeLeak.end_child(child, text) if child
      end
      NativeLeak.all_in(text, status)
    end

    # call-seq:
    #   native_growth(times: 3) { ... } -> array
    #
    # Returns what C extensions hold more of after each run of the block, as NativeGrowth objects,
    # the most bytes first. This is memory that something still leads to, such as a table of an
    # extension that is never emptied, and also what is lost (see native_leaks). The Array is empty
    # if nothing grows. What Ruby itself asks malloc for is not reported, except on behalf of an
    # extension.
    #
    # Memory is that of malloc and mmap. Also reported are addresses that were given to
    # rb_gc_register_address, and open files that no IO and no Dir has.
    #
    # The block runs once, which fills what is filled once: caches, pools, tables of names. Then it
    # runs +times+ times more. After each run a full garbage collection runs, and the memory that is
    # left is counted. What a C function has asked for at a Ruby stack is reported if there was more
    # of it after each of these runs than before it.
    #
    #   require "zlib"
    #   ObjectSpace::HeapProfile.native_growth { Zlib.deflate("text") }   # => []
    #
    # For tests there are <tt>heapprof/minitest</tt> (assert_no_native_growth) and
    # <tt>heapprof/rspec</tt> (grow_natively).
    #
    # A buffer that doubles when it is full does not grow in each run. Let the block do more for
    # each run, or look at what the buffer leads to. Other threads count, too.
    #
    # [times] How many runs are compared, 2 to 100.
    #
    # The profiler runs only meanwhile, and samples each request of malloc. Under <tt>heapprof
    # memcheck</tt> the profiler that runs there is used; with <tt>--engine=valgrind</tt> this
    # method only runs the block and returns an empty Array.
    #
    # Raises RuntimeError if the profiler runs already, if it is stopped in the block, if there are
    # other Ractors, or if there are too many blocks of malloc to know each. Raises
    # NotImplementedError where <tt>malloc: :all</tt> is not possible (see start). If the block
    # raises, the exception is passed on.
    def self.native_growth(times: 3)
      NativeGrowth.check(times, block_given?)
      started = Primitive.heapprof_native_leaks_start
      begin
        moments = []
        while moments.size <= times
          yield
          next moments << nil if started.nil?
          GC.start
          moments << NativeGrowth.moment(snapshot(native_leaks: moments.size == times))
        end
        all_known = started.nil? || stat(:doublings) + stat(:dropped) == 0
      ensure
        stop if started
      end
      started.nil? ? [] : NativeGrowth.all_in(moments, Primitive.heapprof_core_library, all_known)
    end

    # call-seq:
    #   load(path, limit: 268_435_456) -> heap_profile
    #   load(io, limit: 268_435_456) -> heap_profile
    #
    # Loads the profile in a file that write, +RUBY_HEAPPROF+ or <tt>heapprof merge</tt> has made,
    # or in the rest of an IO or another object with +read+. The format is that of +pprof+,
    # compressed by gzip or not. The profiler need not run.
    #
    # The profile has everything that was written, except that +owner_frames+ has only its first
    # frame. Values and labels that no Sample has are ignored, so heap profiles of other programs
    # (Go's) can be loaded, too. Their space counts as that of slots.
    #
    # [limit] A file with more bytes than this, unpacked, is refused. Memory in proportion to it
    #         may be used while the file is read.
    #
    #   yesterday = ObjectSpace::HeapProfile.load("yesterday.pb.gz")
    #   (ObjectSpace::HeapProfile.load("today.pb.gz") - yesterday).report
    #
    # Raises ArgumentError for a file that is not a profile, not one of a heap, or damaged. The
    # message is one line.
    def self.load(path_or_io, limit: 268_435_456)
      if IO === path_or_io || (path_or_io.respond_to?(:read) && !path_or_io.respond_to?(:to_path))
        Primitive.heapprof_load(path_or_io, limit, nil)
      else
        File.open(File.path(path_or_io), "rb") { |file| Primitive.heapprof_load(file, limit, file.path) }
      end
    end

    ##
    # :singleton-method: peak
    # :call-seq:
    #   peak -> heap_profile or nil
    #
    # What was alive when most was alive, since start. The profiler looks after each garbage
    # collection, and keeps what is alive if that is 5 % more than the last time. So the peak may be
    # missed by less than 5 %. +nil+ if it was not started with +peak+, and as long as no garbage
    # collection has found a sampled object alive.
    #
    # The profile is as one that was taken then, without ages and owners. Its allocated objects are
    # those that were alive.
    #
    #   ObjectSpace::HeapProfile.start(peak: true)
    #   serve_requests
    #   GC.start
    #   ObjectSpace::HeapProfile.peak&.report
    #
    # Raises RuntimeError if the profiler is not running.

    ##
    # :method: peak
    # :call-seq:
    #   peak -> heap_profile or nil
    #
    # What was alive at the peak that this profile knows. A profile that was loaded knows it, too.
    # +nil+ if it knows none.
    #
    #   ObjectSpace::HeapProfile.load("yesterday.pb.gz").peak&.report

    # call-seq:
    #   label(labels) { ... } -> object
    #
    # Runs the block with labels: each object that is sampled meanwhile notes them. So a profile
    # tells which endpoint, job or tenant holds the memory, and which one makes the garbage. Returns
    # what the block returns.
    #
    # [labels] Keys and values, as <tt>endpoint: "POST /cart", tenant: "b2b"</tt>, in addition to those
    #          of an outer block; +nil+ takes a key away. Or a Label, for which nothing is made. Values
    #          are text, numbers, true or false. A process may have 16 different keys; a key beyond is
    #          left out. Each may have 1000 values (+labels+ of RUBY_HEAPPROF); a value beyond is
    #          "(other)". So never use an ID as a value.
    #          With <tt>inherit: :keep</tt>, threads that are made in the block keep its labels. With
    #          <tt>late: :endpoint</tt>, the value of this key is not known yet (see below).
    #
    # The labels belong to the fiber. A fiber that is made in the block has them, too. So does a thread,
    # but only until the block ends. Ractors have none of them. An Enumerator has those of the code
    # that calls it.
    #
    #   ObjectSpace::HeapProfile.label(endpoint: "POST /cart") { serve(request) }
    #
    # With +late+ the block has the label "(before routing)" until a label in it gives the key a value.
    # Then all that the block has allocated before, and all that it allocates later, has that value:
    #
    #   ObjectSpace::HeapProfile.label(late: :endpoint) do
    #     ObjectSpace::HeapProfile.label(endpoint: "POST /cart") { serve(request) }
    #   end
    #
    # It costs a method call if the profiler does not run. Raises ArgumentError for a key that heapprof
    # itself uses, and for arguments that are no labels.
    def self.label(labels)
      labels = Primitive.heapprof_label_begin(labels)
      begin
        yield
      ensure
        Primitive.heapprof_label_end(labels) # what there was before
      end
    end

    # call-seq:
    #   label!(labels) -> label
    #
    # The same from now on in this fiber. Returns a Label of what there was before, for another call
    # that restores it.
    #
    #   before = ObjectSpace::HeapProfile.label!(job: "Mailer")
    #   ObjectSpace::HeapProfile.label!(before)
    def self.label!(labels)
      Primitive.heapprof_label_change(labels)
    end

    # call-seq:
    #   labels -> hash
    #
    # The labels that this fiber has now.
    #
    #   ObjectSpace::HeapProfile.label(job: "Mailer") { ObjectSpace::HeapProfile.labels }   # => {job: "Mailer"}
    def self.labels
      Primitive.heapprof_label_all
    end

    # call-seq:
    #   allocation_stack(object) -> array of frames or nil
    #
    # The stack that allocated the object: an Array of Frame (path, lineno, label), innermost
    # first. +nil+ if the object is not sampled, or the profiler is not running.
    #
    #   ObjectSpace::HeapProfile.start(interval: 1)
    #   ObjectSpace::HeapProfile.allocation_stack(Object.new).first.label   # => "Class#new"
    def self.allocation_stack(object)
      Primitive.heapprof_allocation_stack(object)
    end

    # call-seq:
    #   stat(rss: false) -> hash
    #   stat(key) -> integer
    #
    # Numbers about the profiler itself. All are 0 if it is not running:
    #
    # [:interval_bytes] the interval in force
    # [:malloc_interval_bytes] the same, of the allocator's bytes
    # [:malloc_all] 1 with <tt>malloc: :all</tt>
    # [:live_samples] sampled objects not freed yet
    # [:total_samples] samples taken since start
    # [:dropped] samples lost because the system refused memory, or thinning could not make room.
    #            Also samples taken without the global VM lock, if too many wait to be entered
    # [:folded] sites of dead objects that were given up to save memory; other sites stand for them
    # [:truncated] stacks cut at +depth+ frames
    # [:sites] pairs of a stack and a class known
    # [:stack_nodes] nodes of the tree of stacks
    # [:functions] functions known
    # [:memory_used, :memory_peak, :memory_budget] bytes of the profiler's own tables
    # [:doublings] how often both intervals were doubled because the budget was used up
    # [:dead_functions, :dead_stack_nodes, :dead_sites] how many functions, nodes and sites belong
    #            to dead code (of eval, templates, or files that were loaded and run) or to dead
    #            classes. With these, +stat+ takes time in proportion to its tables
    # [:merged_sites] sites of dead code, since start, that were added to others of the same name,
    #             path and line
    # [:nameless_sites] sites of dead code, since start, that were moved to [dead code] or [dead
    #             class] because there were too many names
    # [:other_labels, :left_out_labels] values of labels, since the process began, that became
    #             "(other)" because their key has too many; labels left out, because there are too
    #             many keys or sets, or no memory
    #
    # It also has what the resident memory of the process consists of, whether the profiler is
    # running or not. These numbers are measured if they are asked for by key, or with <tt>rss:
    # true</tt>. All except the last one add up to the first:
    #
    # [:rss] the resident set size
    # [:rss_slots, :rss_free_slots, :rss_page_overhead] the heap: slots in use, free slots, the
    #                                                   rest of its pages
    # [:rss_iseqs, :rss_method_tables, :rss_symbols] compiled code, tables of classes and modules,
    #                                                of symbols and interned strings; outside slots
    # [:rss_malloc, :rss_allocator_slack] everything else that the allocator has given out; what
    #             it keeps free
    # [:rss_stacks] machine and VM stacks of threads and fibers
    # [:rss_jit_code, :rss_profiler, :rss_files] generated code; the profiler's tables; the
    #                                            executable, libraries and other mapped files
    # [:rss_unexplained] the rest
    # [:rss_absent] requested from the allocator but not resident, such as the unused part of a
    #               buffer. Up to this much unexplained memory may be counted as :rss_malloc
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
    # [labels] what the program was doing (see label), as a Hash, with the thread's name as +:thread+
    # [kind] what the row describes: +:objects+ of a class; +:malloc+, memory of the allocator;
    #        +:rss+, in the rows that +rss+ adds. Rows of objects have the values of objects and
    #        slots below, rows of the allocator's memory those of malloc, and the last kind only
    #        rss_space
    # [class_name] of objects: a String such as "Foo::Bar"; "#<Class < Foo>" for a class without a
    #              name; "T_IMEMO(iseq)" or "T_ARRAY(hidden)" for an object that only the VM sees.
    #              "" in rows of another kind
    # [caller] of the allocator's memory: the C function that asked for it, and its library, such as
    #          "str_enc_new (ruby)"; "" if that is not known. +nil+ in rows of another kind
    # [frames] Array of Frame (path, lineno, label), innermost first, as in a backtrace
    # [owner, owner_frames] of the allocator's memory: the class name of the object that holds it
    #                       (or another holder, see snapshot), and the stack that allocated that
    #                       object; +nil+ if not known
    # [native_leak] whether the memory looks leaked; +false+ without +native_leaks+ (see snapshot)
    # [gc_age] GCs survived, rounded down to 0 or a power of two; +nil+ in rows of dead objects,
    #          and in rows of the VM
    # [inuse_objects] alive at the snapshot
    # [inuse_slot_space, inuse_malloc_space] bytes of their slots; bytes of the allocator
    # [inuse_space] the sum of both
    # [alloc_objects, alloc_slot_space, alloc_malloc_space, alloc_space] allocated since start
    # [temp_objects, temp_space] of the allocated: what has died before its first garbage collection,
    #                            and its bytes; 0 without +lifetimes+ (see start)
    # [death_age] garbage collections that the dead have survived, rounded down to 0, 1, 2 or 4; +nil+
    #             in other rows, and without +lifetimes+
    # [peak_objects, peak_space] alive when most was alive, and its bytes; 0 without +peak+ (see start)
    # [rss_space] bytes in memory, in the rows that +rss+ adds
    # [memsize] bytes that ObjectSpace.memsize_of has for the sampled objects themselves. This is
    #           not an estimate for all objects. 0 if owners were not looked for
    #
    # Rows with the same class and frames differ in gc_age or death_age, or one has what was alive at
    # the peak. Each value can be added up.
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
    # What has changed since an earlier profile, of this run or another one. Each value is the
    # difference, and may be negative. Rows that differ only in their age become one, with a
    # gc_age of +nil+. Rows that have not changed are left out. Owners, memsize and rss are
    # compared if both profiles have them, else dropped. The memory of a profile itself is not
    # sampled, so it is not growth.
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
    # Writes the profile in the format of +pprof+, compressed by gzip, and returns the number of
    # bytes. A file gets its name only when it is complete. Only its owner may read it. A link in a
    # directory that other users may write to is not followed (Errno::ELOOP). The work is done
    # without the global VM lock.
    #
    # An IO gets the bytes as they are, whatever encoding it was opened with. Another object with
    # +write+ is called with a binary String.
    #
    # [by] The sample type that <tt>go tool pprof</tt> shows first; all of them are in the profile.
    #
    #   profile.write("heap.pb.gz")
    #   profile.write("allocated.pb.gz", by: :alloc_space)
    def write(path_or_io, by: :inuse_space)
      if IO === path_or_io && !path_or_io.binmode?
        write_binary(path_or_io, Primitive.heapprof_encode(by))
      elsif Primitive.heapprof_output_p(path_or_io)
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
    # The stacks as lines, the outermost function first, each with its value. flamegraph.pl,
    # speedscope and many other tools read this. Values that are not above 0 are left out.
    #
    #   File.write("heap.collapsed", profile.to_collapsed)
    #   profile.to_collapsed(:alloc_objects).lines.first   # "<main> (app.rb:3);Cart#load (cart.rb:7);Array#map 17\n"
    def to_collapsed(by = :inuse_space)
      Primitive.heapprof_collapsed(by)
    end

    # call-seq:
    #   total(type) -> integer
    #
    # The sum of that value over all rows: the name of a value of Sample, such as
    # +:inuse_malloc_space+ (see each). Of a difference it may be negative.
    #
    #   profile.total(:inuse_space) == profile.sum(&:inuse_space)   # => true
    #
    # Raises ArgumentError if no row has a value of that name.
    def total(type)
      TOTALS.include?(type) ? sum(&type) : Page.refuse_value(type, TOTALS)
    end

    ##
    # :method: inuse_space
    # :call-seq:
    #   inuse_space -> integer
    #
    # Bytes alive at the snapshot: the slots of objects, and memory of the allocator.
    #
    #   ObjectSpace::HeapProfile.snapshot(gc: true).inuse_space.positive?   # => true

    ##
    # :method: objects
    # :call-seq:
    #   objects -> integer
    #
    # How many objects were alive at the snapshot.
    #
    #   profile.objects == profile.total(:inuse_objects)   # => true

    # call-seq:
    #   to_speedscope -> string
    #   to_speedscope(path) -> integer
    #   to_speedscope(io) -> integer
    #
    # The profile as speedscope.app opens it (JSON), with all sample types: as a String, or written
    # to a file or an IO as write does it, which returns the bytes written.
    #
    # The program +heapprof+ does the work, as <tt>heapprof convert --to=speedscope</tt>. Raises
    # RuntimeError if the program cannot be run.
    def to_speedscope(path_or_io = nil)
      text_to(path_or_io, Page.speedscope(self))
    end

    # call-seq:
    #   to_html(sources: nil) -> string
    #   to_html(path, sources: nil) -> integer
    #   to_html(io, sources: nil) -> integer
    #
    # The profile as a page for a browser, the one of <tt>heapprof view</tt>: a flame graph, tables
    # and lines of source. The page needs no network. As a String, or written to a file or an IO as
    # write does it, which returns the bytes written.
    #
    # [sources] The directory below which lines of source are read. +nil+: the current directory,
    #           unless that is the user's home directory or above it. +false+: no lines. If it is
    #           not +false+, the page has lines of Ruby's library and of gems, too.
    #
    #   profile.to_html("heap.html", sources: false)
    #
    # The program +heapprof+ does the work, in a process of its own. Raises RuntimeError if the
    # program cannot be run, ArgumentError if there is no such directory.
    def to_html(path_or_io = nil, sources: nil)
      text_to(path_or_io, Page.html(self, sources))
    end

    # call-seq:
    #   view(path = nil, sources: nil, open: nil) -> string
    #
    # Writes the page of to_html into a file that only its owner may read, and returns its name.
    #
    # [path] The name; +nil+: a new file in the directory for temporary files.
    # [sources] See to_html.
    # [open] Whether it is opened in a browser, by xdg-open. +nil+: if it is a temporary file, and
    #        the program runs in a terminal of a desktop.
    #
    #   profile.view("heap.html", sources: false)   # => "heap.html"
    #
    # Raises what to_html raises. Raises ArgumentError if the file cannot be written or opened.
    def view(path = nil, sources: nil, open: nil)
      Page.view(self, path, sources, open)
    end

    # call-seq:
    #   report(io = $stdout, by: :inuse_space, group: nil, sort: :self, limit: 20, frames: 3, app: true, focus: nil, ignore: nil, focus_label: nil, width: nil, rss: false) -> nil
    #
    # Prints the largest rows as a table, the same that <tt>heapprof top</tt> shows of the file:
    # the value, its error, its share, the sum of the shares so far, the number of objects, and
    # their mean age in garbage collections. 1 MB is 2**20 bytes. The true value is within the
    # error 19 times out of 20. A row whose value is not larger than its error is marked with "~".
    # For a difference, which keeps both profiles for this, it is the table of <tt>heapprof
    # diff</tt>: the largest growth comes first, and what shrank most comes last.
    #
    # Memory of the VM's own tables, such as "[VM] interned strings", has rows of its own if the
    # profile was taken with owners, as it is unless that is turned off. No line is charged for it:
    # such a table is as large as all code has made it. Rows of less than 1 kB and 0.1 % are only
    # counted.
    #
    # [by] The sample type.
    # [group] What a row describes: +:site+, the class (or C caller and owner) and the stack;
    #         +:function+, by its name and the file that defines it; +:class+; +:file+; +:gem+, to
    #         which its extension's malloc counts; +:library+, which asked malloc; +:app+, the
    #         innermost line of the application's own code; "label:KEY", any label of the file.
    #         +nil+: first by line of the application, then by site.
    # [sort] The order of rows. +:self+: by their value. +:cum+: by the value with all that was
    #        called from there, which finds a controller's action or a job's +perform+; for
    #        +:function+, +:file+, +:gem+ and +:app+. +:objects+: by the number of objects.
    # [limit] How many rows; 0: all, also small ones.
    # [frames] How many of the innermost frames of a site. The first frame further out that
    #          belongs to the application follows them, marked "app:". Sites that differ only in
    #          other frames are one row.
    # [app] The directories of the application's own code: a String or Pathname, or an Array of
    #       these. Gems and Ruby's own library below them do not count. +true+: the directory in
    #       which the program started. +nil+ or +false+: no directory.
    # [focus, ignore] Only samples of which a function, a file, the C function that asked malloc
    #                 or its library matches; only samples without. Strings, POSIX extended
    #                 regular expressions.
    # [focus_label] Only samples of which a label matches: a String such as "endpoint=^POST", a key and an
    #               expression.
    # [width] Columns; 0: lines are not cut. +nil+: those of the terminal +io+, or of COLUMNS.
    #         Colours are used only on a terminal, and not if NO_COLOR is set.
    # [rss] Prints before it what the resident memory consists of, and which share is unexplained.
    #       The profile has to be taken with +rss+.
    #
    #   profile.report(group: :class, limit: 5)
    #   (after - before).report(focus: "Cart#")
    def report(io = $stdout, by: :inuse_space, group: nil, sort: :self, limit: 20, frames: 3, app: true,
               focus: nil, ignore: nil, focus_label: nil, width: nil, rss: false)
      columns, colour = Primitive.heapprof_terminal(io)
      text = Primitive.heapprof_report(by, group&.to_s, sort.to_s, limit, frames, Report.directories(app), focus,
                                       ignore, focus_label, width || columns, colour)
      Report.rss(io, Primitive.heapprof_ladder) if rss
      io.write(text)
      nil
    end

    # call-seq:
    #   profile == other -> true or false
    #
    # Whether the other object is a profile with the same rows. Their order, and when it was
    # taken, do not matter. Rows that look alike count as one, and only the first of
    # +owner_frames+ counts. So a profile is equal to the one that is loaded from its file.
    #
    #   ObjectSpace::HeapProfile.load("heap.pb.gz") == profile   # => true
    def ==(other)
      Primitive.heapprof_equal(other)
    end
    alias eql? ==

    # call-seq:
    #   hash -> integer
    #
    # The same number for equal profiles.
    #
    #   { profile => "today" }[ObjectSpace::HeapProfile.load("heap.pb.gz")]   # => "today"
    def hash
      Primitive.heapprof_content_hash
    end

    # call-seq:
    #   inspect -> string
    #
    # The sum of all rows. 1 MB is 2**20 bytes.
    #
    #   profile.inspect             # "#<ObjectSpace::HeapProfile 12.3 MB in use, 1234 samples, interval 64k>"
    #   (profile - before).inspect  # "#<ObjectSpace::HeapProfile grew by 1.2 MB, interval 64k>"
    def inspect
      "#<#{self.class} #{Primitive.heapprof_summary}>"
    end

    private

    # Does what IO#write does, without its conversions.
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

    # Returns the text if there is no place for it.
    def text_to(path_or_io, text)
      return text if path_or_io.nil?
      return Primitive.heapprof_write_text(path_or_io, text) unless Primitive.heapprof_output_p(path_or_io)
      return write_binary(path_or_io, text) if IO === path_or_io && !path_or_io.binmode?
      path_or_io.write(text)
    end

    # Labels that are made once, for many calls of HeapProfile.label: that makes no object then. Frozen, and
    # may be used by several ractors.
    #
    #   CART = ObjectSpace::HeapProfile::Label.new(endpoint: "POST /cart")
    #   ObjectSpace::HeapProfile.label(CART) { serve(request) }
    class Label
      # The methods are C's (vm/api/label_api.c): methods in Ruby are more objects in each process.

      ##
      # :singleton-method: new
      # :call-seq:
      #   Label.new(labels) -> label
      #
      # [labels] As those of HeapProfile.label, except +late+ and +inherit+, which want a block.

      ##
      # :method: to_h
      # :call-seq:
      #   to_h -> hash
      #
      #   ObjectSpace::HeapProfile::Label.new(endpoint: "POST /cart").to_h   # => {endpoint: "POST /cart"}

      ##
      # :method: inspect
      # :call-seq:
      #   inspect -> string
    end

    TOTALS = [
      :inuse_space, :inuse_objects, :inuse_slot_space, :inuse_malloc_space,
      :alloc_space, :alloc_objects, :alloc_slot_space, :alloc_malloc_space, :rss_space, :memsize,
      :peak_space, :peak_objects, :temp_space, :temp_objects
    ].freeze
    private_constant :TOTALS

    # Loaded on demand: what is in lib/ does not cost each GC of every program.
    autoload :NativeLeak, "heapprof/native_leaks"
    autoload :NativeGrowth, "heapprof/native_growth"
    autoload :Page, "heapprof/page"
    autoload :Report, "heapprof/report"
    private_constant :Page, :Report
  end

  # The objects of the heap and their references, in a file. It answers why an object is alive,
  # and how much it keeps alive.
  #
  #   ObjectSpace::HeapGraph.dump("heap.rbgraph", gc: true)  # heapprof graph report heap.rbgraph
  #
  # The environment variable +RUBY_HEAPGRAPH+ does this without a change of the program, whenever
  # a signal comes: <tt>RUBY_HEAPGRAPH=signal=USR1,out=heap-%p-%n.rbgraph,max_pause=0.5</tt>
  #
  # [signal] As in HeapProfile.start. If the program traps it later, it belongs to the program
  #          from then on.
  # [out] Names of the files: %p pid, %e program, %t time, %n number. The default is
  #       <tt>heap-%p-%n.rbgraph</tt>.
  # [max_pause] Seconds. If the program would have to wait longer for its copy, as estimated by
  #             its memory, no dump is made.
  #
  # Only C Ruby built with the heap profiler has this module.
  module HeapGraph
    # call-seq:
    #   dump(path, gc: false, fork: true, values: :none) -> integer
    #   dump(io, gc: false, fork: true, values: :none) -> integer
    #
    # Writes all objects with their classes, sizes and references. A reference has a name if there
    # is one: an instance variable, a constant, a key, an index. The file also has the roots, from
    # which all live objects are reached. An object that the profiler has sampled has the stack
    # that allocated it. Returns the bytes written.
    #
    # A file gets its name when it is complete. Only its owner may read it.
    #
    # [gc] Runs a full garbage collection before, with the finalizers of the objects that it
    #      frees, as GC.start does. Without it dead objects that are not freed yet may be in the
    #      file.
    # [fork] A child of this process writes the file, and the program waits only until the child
    #        is made. +Process.wait+ and SIGCHLD do not tell of it. This thread waits until the
    #        file is written; other threads run. With +false+, or if the system allows no child,
    #        all threads wait. If the child is killed, as by the system when memory runs out, this
    #        raises RuntimeError.
    # [values] +:none+: no contents of strings, symbols made at run time, floats or large integers,
    #          and no names of threads are written. An Integer: the first bytes of each String.
    #          +:all+: everything.
    def self.dump(path_or_io, gc: false, fork: true, values: :none)
      Primitive.heapprof_graph_dump(path_or_io, gc, fork, values)
    end

    # call-seq:
    #   load(path, memory: nil, exact: false) -> dump
    #
    # Returns the dump in a file, as a Dump. It answers what keeps most memory (report), why an
    # object is alive (why), what there is most of (top), which objects fulfil a condition (query),
    # and what has grown since (diff). The answers are frozen objects with plain fields.
    #
    #   ObjectSpace::HeapGraph.dump("before.rbgraph", gc: true)
    #   serve_requests
    #   ObjectSpace::HeapGraph.dump("after.rbgraph", gc: true)
    #   dump = ObjectSpace::HeapGraph.load("before.rbgraph")
    #   dump.objects.positive?                    # => true
    #   dump.top(limit: 3).size                   # => 3
    #   dump.query("Array").rows.first.class_name # => "Array"
    #   puts dump.diff("after.rbgraph")
    #
    # The program +heapprof+ reads the file, for each question, in a process of its own. So a dump
    # of any size takes no memory of this process, and what is wrong with a file cannot end it.
    #
    # [memory] Most memory that the program may take for the graph, as "512M" or "4G"; the rest
    #          goes to a file. +nil+: no limit.
    # [exact] Lets caches and words of a stack keep what they refer to, as in the running process.
    #
    # Raises SystemCallError if the file cannot be opened, ArgumentError for a file that is no dump,
    # or damaged, and RuntimeError if the program cannot be run, or is ended.
    def self.load(path, memory: nil, exact: false)
      Dump.load(path, memory: memory, exact: exact)
    end

    # Loaded on demand, as HeapProfile::NativeLeak.
    autoload :Dump, "heapprof/graph"
  end
end
