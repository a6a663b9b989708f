# The workload of bench/sample: small objects of six kinds, one in fifty of which is kept, made below
# so many frames: ruby kept.rb COUNT FRAMES

class Plain; end
class Two; def initialize(a, b) = (@a = a; @b = b); end
class Wide; def initialize = (@a = @b = @c = @d = @e = @f = @g = @h = 1); end

count = Integer(ARGV.fetch(0))
frames = Integer(ARGV.fetch(1))
$kept = Array.new(count / 50 + 100)

def plain = Plain.new
def two(i) = Two.new(i, i)

def work(count)
  i = 0
  k = 0
  while i < count
    case i % 6
    when 0 then o = plain
    when 1 then o = two(i)
    when 2 then o = Wide.new
    when 3 then o = [i, i, i]
    when 4 then o = +"an embedded string"
    else o = { key: i }
    end
    if i % 50 == 0
      $kept[k] = o
      k += 1
    end
    i += 1
  end
end

def deeper(n, count) = n == 0 ? work(count) : deeper(n - 1, count)
deeper(frames - 4, count)
GC.start
