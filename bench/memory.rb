# frozen_string_literal: true

# memory.rb - what samples and stacks take of the profiler's memory, and whether estimates are right when there is more
# than its budget holds: ruby memory.rb [OBJECTS] [NAMES]
#
#     bytes    of a live sample, and of a stack node with the sites at it, the most while tables grow; by frames
#     full     OBJECTS live ones, ten at each of their stacks: by class and by outer frame
#     names    NAMES classes and methods made by eval, used and gone; of their objects one a name stays: by tenths of the run
#
# Prints, and fails where a goal is missed or an estimate is further off than 5.7 sigma of the interval in force at the
# end. Every object is a sample until the budget is full: it is 64 MB for three million or more, else 8 MB.
# Default: 1,000,000 objects, 50,000 names, which are of three kinds: class, method, file. 0: that part is left out.

require_relative "../test/ruby/lib/estimator"

HeapProfile = ObjectSpace::HeapProfile
OBJECTS, NAMES = [1_000_000, 50_000].each_with_index.map { |default, i| Integer(ARGV.fetch(i, default)) }
SAMPLE_GOAL, NODE_GOAL = 64, 40 # bytes
SLOT = GC.stat_heap(0, :slot_size)
CLASSES = Array.new(10) { |i| Object.const_set(:"Kept#{i}", Class.new) }
TABLED = [OBJECTS, 1_000_000].min # samples in the tables that bytes are counted of
KEPT = [] # filled by what is below
$failed = false
$stdout.sync = true

def say(good, text)
  $failed ||= !good
  puts "#{good ? '  ' : '! '}#{text}"
end

# A method with ten lines that go on to the next digit; and ten that begin.
eval <<~RUBY, binding, "digits.rb"
  def down(digits, i, count, made)
    return count.times { KEPT << made.new } if i == digits.size
    case digits[i]
    #{(0..9).map { |digit| "when #{digit} then down(digits, i + 1, count, made)" }.join("\n")}
    end
  end
  #{(0..9).map { |digit| "def outer#{digit} = yield" }.join("\n")}
RUBY

def run(memory)
  KEPT.clear
  GC.start
  HeapProfile.start(interval: 1, malloc_interval: 0, memory: memory, depth: 1000, seed: 1)
  yield
ensure
  HeapProfile.stop
end

# ---- bytes ----

# The most bytes for each more of what is counted, between the first tenth and the end.
def most_bytes(counted, times)
  base = HeapProfile.stat
  Array.new(times) do
    yield
    now = HeapProfile.stat
    (now[:memory_used] - base[:memory_used]).fdiv(now[counted] - base[counted])
  end.drop(times / 10).max
end

def bytes_of_a_sample(frames)
  digits = Array.new(frames, 0)
  KEPT.concat([nil] * TABLED)
  run(1 << 40) { most_bytes(:live_samples, 50) { down(digits, 0, TABLED / 50, CLASSES[0]) } }
end

def bytes_of_a_node(frames)
  random = Random.new(frames)
  run(1 << 40) do
    most_bytes(:stack_nodes, 50) do
      (TABLED / 50 / frames).times { down(Array.new(frames) { random.rand(10) }, 0, 1, CLASSES[0]) }
      KEPT.clear
      GC.start
    end
  end
end

def bytes
  [20, 100, 500].each do |frames|
    sample, node = bytes_of_a_sample(frames), bytes_of_a_node(frames)
    say(sample <= SAMPLE_GOAL && node <= NODE_GOAL,
        format("%3d frames: a sample has %.1f bytes (goal %d), a stack node %.1f (goal %d)", frames, sample, SAMPLE_GOAL, node, NODE_GOAL))
  end
end

# ---- right when it is full ----

def judge(title, estimates, truth)
  interval = HeapProfile.stat(:interval_bytes)
  worst = truth.map { |key, count| (estimates[key] - count).abs / Estimator.sigma(count, SLOT, interval) }.max
  say(worst <= Estimator::SIGMAS, format("%s: at most %.2f sigma off (sigma %.1f %% of one)", title, worst,
                                         100 * Estimator.sigma(truth.values.first, SLOT, interval) / truth.values.first))
end

def judge_budget(title, budget)
  stat = HeapProfile.stat
  say(stat[:dropped] == 0 && stat[:memory_peak] <= budget && stat[:doublings] > 0,
      format("%s: %.1f of %.1f MB, the interval doubled %d times, %d samples live, %d sites, %d nodes, %d dropped", title,
             stat[:memory_peak].fdiv(1 << 20), budget.fdiv(1 << 20), *stat.values_at(:doublings, :live_samples, :sites, :stack_nodes, :dropped)))
end

# Live objects of the ten classes, by what the block says of a sample.
def estimates(profile)
  estimates = Hash.new(0)
  profile.each do |sample|
    next unless sample.class_name.start_with?("Kept")
    estimates[sample.class_name] += sample.inuse_objects
    estimates[sample.frames.reverse_each.lazy.map(&:label).grep(/outer\d/).first[/outer\d/]] += sample.inuse_objects
  end
  estimates
end

def budget_for(count) = count >= 3_000_000 ? 64 << 20 : 8 << 20

def full
  budget = budget_for(OBJECTS)
  stacks = OBJECTS / 10
  truth = Hash.new(0)
  run(budget) do
    stacks.times do |number|
      outer, made = number % 10, CLASSES[number / 10 % 10]
      send(:"outer#{outer}") { down((number / 10).digits, 0, 10, made) }
      truth["outer#{outer}"] += 10
      truth[made.name] += 10
    end
    judge_budget("#{OBJECTS} live objects of #{stacks} stacks", budget)
    estimates = estimates(HeapProfile.snapshot(gc: true))
    judge("by class", estimates, truth.slice(*CLASSES.map(&:name)))
    judge("by outer frame", estimates, truth.reject { |key,| key.start_with?("Kept") })
  end
end

def use_names(number)
  space = Module.new
  space.module_eval("class C#{number}; def m#{number}(kept) = kept << Kept0.new; end", "names#{number}.rb")
  space.const_get(:"C#{number}").new.send(:"m#{number}", KEPT)
end

def names
  budget = budget_for(NAMES)
  run(budget) do
    10.times { |tenth| (NAMES / 10).times { |i| send(:"outer#{tenth}") { use_names(tenth * NAMES / 10 + i) } } }
    judge_budget("#{NAMES} classes, methods and files that are gone", budget)
    judge("by tenths of the run", estimates(HeapProfile.snapshot(gc: true)), (0..9).to_h { |tenth| ["outer#{tenth}", NAMES / 10] })
  end
end

if OBJECTS > 0
  bytes
  full
end
names if NAMES > 0
exit !$failed
