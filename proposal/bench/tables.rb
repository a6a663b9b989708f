# frozen_string_literal: true

require_relative "accuracy"
require_relative "loops"
require_relative "mri"

# tables.rb - one method a table.
module Tables
  ALL = %i[bias accuracy memory ractors off on yjit gem mri].freeze
  LOOPS = %w[object string array mixed append hash].freeze
  LISTENERS = (Loops::SETTINGS.keys - ["off", "heapprof-gem, every object"]).freeze
  ROUNDS = Integer(ENV.fetch("ROUNDS", 5))

  class << self
    def off
      head "Off: instructions with the patch over without", %w[loop without with ratio]
      LOOPS.each do |loop|
        stock, patched = [Loops::STOCK, Loops::PATCHED].map { Loops.counted(_1, loop) }
        row loop, stock, patched, ratio(patched, stock)
      end
      puts
    end

    # Medians: a run may have a GC more than another.
    def mri
      head "Off: MRI's own benchmarks of gc and vm, instructions of 20,000 steps, medians of #{ROUNDS} runs", %w[benchmark without with ratio]
      MRI.scripts.each do |name, code|
        path = Loops.in_file("mri", code)
        stock, patched = [Loops::STOCK, Loops::PATCHED].map do |ruby|
          Loops.median(Array.new(ROUNDS) { [20_000, 0].map { |n| Loops.instructions(*Loops.command(ruby, "off", path, n.to_s)) }.reduce(:-) })
        end
        row name, stock, patched, ratio(patched, stock)
      end
      puts
    end

    def on = over_off("interpreter", [])

    def yjit = over_off("YJIT", %w[--yjit --yjit-call-threshold=10])

    # The NEWOBJ hook takes the VM lock for each object.
    def ractors
      code = <<~'RUBY'
        Warning[:experimental] = false
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        2.times.map { Ractor.new { 1_000_000.times { Object.new } } }.each(&:take)
        puts "clock=#{Process.clock_gettime(Process::CLOCK_MONOTONIC) - began}"
        puts "cpu=#{Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)}"
        puts "looks=#{Hooks.looks}" if defined?(Hooks)
      RUBY
      settings = Loops::SETTINGS.keys.first(3)
      runs = Array.new(ROUNDS) { settings.map { |setting| Loops.measured(code, setting:) } }.transpose
      head "Two Ractors, a million objects each", ["", "seconds of the clock", "of CPU", "samples; 153 of the objects are expected"]
      settings.zip(runs) do |setting, all|
        row setting, *%w[clock cpu].map { |key| format("%.2f", Loops.median(all.map { _1[key].to_f })) }, all.last["looks"] || "–"
      end
      puts
    end

    def memory
      code = <<~'RUBY'
        kept = Array.new(1_000_000) { "some text #{_1}" }
        GC.start
        status = File.read("/proc/self/status")
        puts "resident=#{status[/^VmRSS:\s+(\d+)/, 1]}", "most=#{status[/^VmHWM:\s+(\d+)/, 1]}"
        kept.hash
      RUBY
      head "Memory with a million Strings alive", ["", "MB resident", "MB at most"]
      Loops::SETTINGS.each_key do |setting|
        runs = Array.new(3) { Loops.measured(code, setting:) }
        row setting, *%w[resident most].map { |key| format("%.1f", Loops.median(runs.map { _1[key].to_f }) / 1024) }
      end
      puts
    end

    # Beside a sample of the built-in profiler: bench/sample.counts has what that takes for the same program.
    def gem
      built_in = File.readlines("#{Loops::TOP}/bench/sample.counts").grep(/\A\d+ \d+$/).to_h { _1.split.map(&:to_i) }
      head "heapprof-gem: instructions a sample, of bench/kept.rb with every object sampled", ["frames", "heapprof-gem", "built-in profiler"]
      [20, 500].each do |frames|
        off, on = ["off", "heapprof-gem, every object"].map do |setting|
          command = Loops.command(Loops::PATCHED, setting, "#{Loops::TOP}/bench/kept.rb")
          [6000, 6].map { |n| Loops.instructions(*command, n.to_s, frames.to_s) }
        end.map { |many, few| many - few }
        row frames, (on - off) / 5994, built_in.fetch(frames)
      end
      puts
    end

    # Six lines take turns. With k = 100 a NEWOBJ hook looks at some of them only, as 100 and 6 have a common factor.
    FIRST_PLACE = 4 # of a program with a line before PLACES
    PLACES = <<~'RUBY'
      i = 0
      while i < 300_000
        Object.new
        Object.new
        Object.new
        Object.new
        Object.new
        Object.new
        i += 1
      end
    RUBY

    def bias
      head "Bias: of 1,800,000 objects of six lines in turn, samples of each line", ["", *1.upto(6).map { "line #{_1}" }]
      { "NEWOBJ, each 100th" => "Hooks.newobj(100)", "NEWOBJ, each 99th" => "Hooks.newobj(99)", "NEWOBJ, each 97th" => "Hooks.newobj(97)",
        "event, 4,000 bytes" => "Hooks.event(4000)" }.each do |title, start|
        code = "require 'hooks'\n#{start}; #{PLACES}all = Hooks.lines; first = #{FIRST_PLACE}\n" \
               "6.times { puts \"\#{_1}=\#{all[first + _1].to_i}\" }"
        row title, *Loops.measured(code, options: Loops.libraries).values
      end
      kept = PLACES.sub("i = 0", "i = 0; kept = []").gsub("Object.new", "kept << Object.new")
      code = "require 'heapprof_gem'\nHeapprofGem.start(mean_bytes: 4000); #{kept}" \
             "HeapprofGem.stop; all = HeapprofGem.rows.group_by { _1.place[/\\d+\\z/].to_i }; first = #{FIRST_PLACE}\n" \
             "6.times { puts \"\#{_1}=\#{all[first + _1].to_a.sum(&:samples)}\" }"
      row "heapprof-gem, 4,000 bytes; all are alive", *Loops.measured(code, options: Loops.libraries).values
      puts
    end

    # Of how many rows of a scenario, how far the mean of the error is from 0 at most, and how far its standard deviation is from 1, both
    # in units of what sampling explains (test/accuracy/suite.rb). A row that does not fit is one that chance does not explain.
    def accuracy
      runs = Integer(ENV.fetch("RUNS", 100))
      head "Accuracy: #{runs} runs of each program of the accuracy suite, what is alive",
           ["program, bytes", "rows", *%w[built-in gem].flat_map { |who| ["#{who}: mean", "deviation", "rows that do not fit"] }]
      AccuracyPrograms.each(runs) do |scenario, *both|
        row scenario.key, both[0].size, *both.flat_map { |rows| errors(rows) }
      end
      puts
    end

    private

    def errors(rows)
      [format("%+.2f", rows.map(&:mean).max_by(&:abs)), format("%.2f", rows.map(&:sd).max_by { |sd| (sd - 1).abs }), rows.count { |one| !one.fits? }]
    end

    def over_off(title, options)
      head "On: instructions over off, #{title}", ["loop", *LISTENERS]
      ENV.fetch("LOOPS", "object mixed").split.each do |loop|
        off = Loops.counted(Loops::PATCHED, loop, options:)
        row loop, *LISTENERS.map { |setting| ratio(Loops.counted(Loops::PATCHED, loop, setting:, options:), off) }
      end
      puts
    end

    def ratio(a, b) = format("%.4f", a.fdiv(b))

    def head(title, cells)
      puts "### #{title}", ""
      row(*cells)
      puts "|---#{'|---:' * (cells.size - 1)}|"
    end

    def row(*cells) = puts("| #{cells.map { _1.is_a?(Integer) ? _1.to_s.gsub(/\B(?=(\d{3})+\z)/, ',') : _1 }.join(' | ')} |")
  end
end
