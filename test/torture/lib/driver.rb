# frozen_string_literal: true

# driver.rb - a run: episodes one after another, what they did, what failed.

require_relative "child"
require_relative "kinds"
require_relative "settings"

module Torture
  class Driver
    # A run as long as this must have done everything.
    LONG = 600
    TAIL = 25

    def initialize(seconds:, seed:, episode:, repeat:, ruby:, folder:, limit:)
      @seconds, @episode, @repeat, @limit = seconds, episode, repeat, limit
      @seed = seed || Random.new_seed % 1_000_000_000
      @ruby, @folder = File.expand_path(ruby), File.expand_path(folder)
      @done = Hash.new(0)
      @count = 0
    end

    # The exit status.
    def run
      prepare
      puts "torture: SEED=#{@seed}, #{description}"
      failed = @episode ? repeat : go_on
      return 1 if failed
      report
    end

    private

    def prepare
      File.executable?(@ruby) or abort "torture: #{@ruby} not found: make debug, or set RUBY"
      Dir.exist?(@folder) or system("mkdir", "-p", @folder) or abort "torture: no #{@folder}"
      $stdout.sync = true
      %w[INT TERM HUP].each { |name| trap(name) { trap(name, "IGNORE") && exit(1) } }
      @library = library
      @supported = Settings::MODES.select { |flag| quiet?(flag) }
    end

    # A ruby that is not installed: where the parts of its library are.
    def library
      built = File.dirname(@ruby)
      source = File.read("#{built}/Makefile")[/^srcdir *= *(.*)/, 1] if File.exist?("#{built}/Makefile")
      return unless source
      [*Dir.glob("#{built}/.ext/{common,*-*}"), File.expand_path("lib", File.expand_path(source, built)),
       built].join(":")
    end

    def environment
      @library ? { "RUBYLIB" => @library } : {}
    end

    def quiet?(flag)
      system(environment, @ruby, "--disable-gems", flag, "-e", "1", out: File::NULL, err: File::NULL)
    end

    def description
      IO.popen([environment, @ruby, "--disable-gems", "-e",
                "puts RUBY_DESCRIPTION + (defined?(ObjectSpace::HeapProfile) ? '' : ', no profiler')"],
               &:read).chomp
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def repeat
      @repeat.times.any? { !pass?(@episode) }
    end

    def go_on
      until_time = now + @seconds
      report_at = now + 60
      (0..).each do |index|
        return false if now >= until_time
        return true unless pass?(index)
        next if now < report_at
        report_at = now + 60
        puts "#{@count} episodes, #{@done.values.sum} steps"
      end
    end

    def pass?(index)
      folder = File.join(@folder, "#{@seed}-#{index}")
      system("rm", "-rf", folder)
      Dir.mkdir(folder)
      seed = Torture.seed(@seed, index)
      settings = Settings.new(seed, folder, @supported)
      command = [@ruby, *settings.flags, File.expand_path("../episode.rb", __dir__), seed.to_s, folder]
      child = Child.new(command, settings.environment.merge(environment), folder, @limit)
      child.run
      count(child)
      return explain(child, index, settings, folder) if child.failure
      system("rm", "-rf", folder)
      true
    end

    def count(child)
      @count += 1
      child.text("log")&.each_line { |line| @done[$1] += 1 if line =~ / done (\S+)/ }
    end

    def explain(child, index, settings, folder)
      puts "torture: FAILED: SEED=#{@seed} episode #{index} #{child.failure}", "settings: #{settings}"
      %w[err out gzip].each { |name| show(name, child.text(name)&.lines&.first(TAIL)) }
      show("log, its end", child.text("log")&.lines&.last(TAIL))
      puts "all of it is in #{folder}", "again: make torture SEED=#{@seed} EPISODE=#{index} RUBY=#{@ruby}"
      false
    end

    def show(name, lines)
      puts "---- #{name}", lines if lines && !lines.empty?
    end

    def report
      never = Torture::KINDS - @done.keys
      puts "torture: #{@count} episodes passed, #{@done.values.sum} steps, SEED=#{@seed}"
      @done.sort.each { |kind, count| puts format("%8d %s", count, kind) }
      return 0 if never.empty? || @episode || @seconds < LONG
      puts "never: #{never.join(' ')}"
      puts "torture: FAILED: a run of this length must have done everything"
      1
    end
  end
end
