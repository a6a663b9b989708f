# frozen_string_literal: true

# loops.rb - programs that are counted, with or without something that listens, and how they are run.
module Loops
  TOP = File.expand_path("../..", __dir__)
  BUILD = File.join(TOP, "build/proposal")
  STOCK = File.join(TOP, "build/stock/ruby")
  PATCHED = File.join(BUILD, "installed/bin/ruby")
  GEMS = File.join(BUILD, "gems") # vernier

  # What listens: Ruby code that starts it.
  SETTINGS = {
    "off" => "",
    "event, 512 KiB" => "require 'hooks'; Hooks.event(512 * 1024)",
    "NEWOBJ hook that does nothing" => "require 'hooks'; Hooks.newobj(0)",
    "heapprof-gem, 512 KiB" => "require 'heapprof_gem'; HeapprofGem.start",
    "heapprof-gem, every object" => "require 'heapprof_gem'; HeapprofGem.start(mean_bytes: 1)",
    # as many samples as the event has of small objects
    "vernier, each 13,107th" => "require 'vernier'; collector = Vernier::Collector.new(:wall, interval: 1_000_000, " \
                                "allocation_interval: 13_107); collector.start; at_exit { collector.stop }"
  }.reject { |title,| title.start_with?("vernier") && !File.exist?("#{GEMS}/complete") }.freeze

  # YJIT compiles what is called, and so none of the loops of bench/allocate.rb, which are at the top of a file.
  CALLED = { "object" => "Plain.new", "mixed" => "Plain.new; [i, i, i]; { key: i }; +'an embedded string'" }.transform_values do |step|
    "class Plain; end\ndef work\n  i = 0\n  while i < 100\n    #{step}\n    i += 1\n  end\nend\n(ARGV[0].to_i / 100).times { work }\nGC.start\n"
  end

  # As full in each: bench/lib.sh, bench/filled_heaps.rb.
  ROOM = [40_000, 20_000, 10_000, 5_000, 2_500].each_with_index.to_h { |slots, heap| ["RUBY_GC_HEAP_#{heap}_INIT_SLOTS", slots.to_s] }
  ENVIRONMENT = { "RUBYOPT" => nil, "RUBYLIB" => nil, "RUBY_HEAPPROF" => nil, "BUNDLE_GEMFILE" => nil }.freeze

  class << self
    # A file of this process's, with the code.
    def in_file(name, code)
      path = File.join(BUILD, "bench", "#{name}-#{$$}.rb")
      Dir.mkdir(File.dirname(path)) unless File.directory?(File.dirname(path))
      File.write(path, code)
      path
    end

    def libraries
      Dir[File.join(GEMS, "gems/*/lib"), File.join(GEMS, "extensions/*/*/*"), File.join(BUILD, "extensions"),
          File.join(TOP, "proposal/heapprof-gem/lib")].flat_map { ["-I", _1] }
    end

    def command(ruby, setting, *arguments)
      start = in_file("start", "#{SETTINGS.fetch(setting)}\n")
      [ruby, "--disable=gems", *(libraries if setting != "off"), "-r#{TOP}/bench/filled_heaps.rb", *("-r#{start}" if setting != "off"),
       *arguments]
    end

    def output(command, env = {})
      text = IO.popen({ **ENVIRONMENT, **env }, command, err: %i[child out], &:read)
      $?.success? or abort "#{command.join(' ')}: #{text}"
      text
    end

    def instructions(*command)
      valgrind = %w[setarch -R valgrind --tool=callgrind --callgrind-out-file=/dev/null]
      Integer(output(valgrind + command, ROOM)[/refs: *([\d,]+)/, 1].delete(","))
    end

    # Of COUNT steps of a loop of bench/allocate.rb; with options of a JIT, of CALLED.
    def counted(ruby, loop, setting: "off", count: Integer(ENV.fetch("COUNT", 100_000)), options: [])
      program = options.empty? ? ["#{TOP}/bench/allocate.rb", loop] : [in_file("called", CALLED.fetch(loop))]
      run = ->(n) { instructions(*command(ruby, setting, *options, *program, n.to_s)) }
      run.(count) - run.(0)
    end

    # What the code prints as KEY=VALUE.
    def measured(code, setting: "off", options: [])
      path = in_file("measured", "#{code}\n")
      text = output(command(PATCHED, setting, *options, path))
      text.lines.to_h { _1.chomp.split("=", 2) }
    end

    def median(values) = values.sort[values.size / 2]
  end
end
