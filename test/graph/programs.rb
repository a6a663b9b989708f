# frozen_string_literal: true

# programs.rb - what `heapprof graph diff` says of random programs adds up, to the byte.
#
# A process runs many of them (programs/generator.rb). Its dumps are a chain, and each program lies between two. There are two oracles:
# what the process has found by ObjectSpace.reachable_objects_from and memsize_of among its own objects, and the files as Kept reads them.

require_relative "lib/answers"
require_relative "lib/kept"
require_relative "lib/outcome"
require_relative "lib/program"

class Programs
  COUNT = Integer(ENV["PROGRAMS"] || 200)
  SEED = Integer(ENV["SEED"] || Random.new_seed % 1_000_000)
  CHAIN = 25     # programs of a process
  THREE = 5      # of so many, one is asked for with the dump behind it, too
  COLUMNS = %w[sum steps classes built].freeze
  SAID_MOST = 3  # programs of a chain of which is told what is wrong

  Chain = Struct.new(:name, :seed, :count)

  def self.check(heapprof, word)
    puts "", "SEED=#{SEED} PROGRAMS=#{COUNT}"
    chains = (0...COUNT).step(CHAIN).map { |from| Chain.new("seed #{SEED + from}, #{[CHAIN, COUNT - from].min} programs", SEED + from, [CHAIN, COUNT - from].min) }
    table = Table.new("programs", COLUMNS)
    each_outcome(table, chains.select { |chain| word.nil? || chain.name.include?(word) }) { |chain| new(chain, heapprof).outcome }
    table
  end

  def initialize(chain, heapprof)
    @chain, @heapprof = chain, heapprof
  end

  def outcome
    wrong = COLUMNS.to_h { |column| [column, []] }
    text = "#{File.read(File.join(__dir__, 'programs/generator.rb'))}\nGenerator.new(#{@chain.seed}).run(#{@chain.count})\nexit!(true)\n"
    in_program(text, interval: "512k") do |directory|
      @answers, @directory = Answers.new(@heapprof, directory), directory
      @old = read(1)
      1.upto(@chain.count) do |number|
        @new = read(number + 1)
        ask(number, wrong)
        @old = @new
      end
    end
    result(wrong)
  end

  private

  def result(wrong)
    Outcome.new(@chain.name).tap do |outcome|
      wrong.each do |column, programs|
        told = programs.first(SAID_MOST).map { |program| "\n      #{program}" }.join
        outcome.ask(column) { "#{programs.size} of #{@chain.count} are wrong#{told}" unless programs.empty? }
      end
    end
  end

  def read(number) = Kept.read(File.join(@directory, "#{number}.graph"))

  def ask(number, wrong)
    dumps = [number, number + 1].map { |one| "#{one}.graph" }
    answer = { "sum" => -> { wrong_sum(dumps) }, "classes" => -> { wrong_classes(dumps) }, "built" => -> { wrong_built(number) } }
    answer["steps"] = -> { wrong_steps(number) } if number % THREE == 0 && number < @chain.count
    answer.each do |column, question|
      fault = begin
        question.call
      rescue Answers::Wrong => error
        error.message
      end
      wrong[column] << "program #{number}: #{fault}" if fault
    end
  end

  # The rows and what no row has are the growth, and that is what the files say.
  def wrong_sum(dumps)
    diff = @answers.diff(*dumps)
    growth = @new.bytes - @old.bytes
    return "the bytes of the dumps: expected #{[@old.bytes, @new.bytes]}, found #{diff['bytes']}" if diff["bytes"] != [@old.bytes, @new.bytes]
    return "the growth: expected #{growth}, found #{diff['growth']}" if diff["growth"] != growth
    rows = diff["rows"].sum { |row| row["growth"] }
    return "rows and rest: expected #{growth}, found #{rows} + #{diff['rest'].inspect}" if rows + diff["rest"].to_i != growth
    odd = diff["rows"].find { |row| row["new"]["bytes"] - row["freed"]["bytes"] + row["grown"] != row["growth"] }
    "a row's new - freed + grown is not its growth: #{odd.slice('growth', 'new', 'freed', 'grown')}" if odd
  end

  # With three dumps, each row's steps are its growth, and by step all rows are at most what the dumps grew.
  def wrong_steps(number)
    later = read(number + 2)
    diff = @answers.diff(*(number..number + 2).map { |one| "#{one}.graph" })
    growth = later.bytes - @old.bytes
    sum = diff["rows"].sum { |row| row["growth"] } + diff["rest"].to_i
    return "rows and rest: expected #{growth}, found #{sum}" if sum != growth
    odd = diff["rows"].find { |row| row["by_step"].sum != row["growth"] || row["by_step"].size != 2 }
    "a row's steps are not its growth: #{odd.slice('growth', 'by_step')}" if odd
  end

  # { name => [objects and bytes then, objects and bytes now, new, freed] }, as a diff by class has it.
  def classes(dumps)
    classes = @answers.json("diff", *dumps, "--group", "class", "-n", 0)["classes"] || raise(Answers::Wrong, "diff --group class has no \"classes\"")
    classes.to_h { |row| [row["name"], row["objects"].zip(row["bytes"]) + row.values_at("new", "freed")] }
  end

  def wrong_classes(dumps)
    told = classes(dumps)
    true_classes.each do |name, expected|
      next if told[name] == expected || (told[name].nil? && expected[0] == expected[1] && expected[2..] == [0, 0])
      return "#{name}: expected #{expected}, found #{told[name].inspect}"
    end
    extra = told.keys - true_classes.keys
    "classes that nothing alive is of: #{extra}" unless extra.empty?
  end

  def true_classes
    old, new, same = @old.histogram, @new.histogram, @new.survivors(@old)
    stayed = same.values.to_h { |address| [address, true] }
    fresh = (@new.alive.keys - same.keys).map { |address| @new.class_of(address) }.tally
    freed = @old.alive.keys.reject { |address| stayed[address] }.map { |address| @old.class_of(address) }.tally
    (old.keys | new.keys).to_h { |name| [name, [old[name], new[name], fresh[name] || 0, freed[name] || 0]] }
  end

  # What the process itself has found of its classes, in both dumps.
  def wrong_built(number)
    told = classes([number, number + 1].map { |one| "#{one}.graph" })
    [number, number + 1].each_with_index do |dump, which|
      JSON.parse(File.read(File.join(@directory, "#{dump}.built"))).each do |name, expected|
        found = told[name] ? told[name][which] : (next if which == 0 || expected == [0, 0])
        return "#{name} in dump #{dump}: expected #{expected}, found #{found.inspect}" if found != expected
      end
    end
    nil
  end
end
