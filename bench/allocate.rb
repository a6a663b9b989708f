# The allocation loops that bench/off and bench/run measure: ruby allocate.rb LOOP COUNT
# Each makes COUNT objects and keeps none, so that the collector works all the time; append and hash
# make COUNT steps of memory that grows outside the slots. At the end all are swept: how far a lazy
# sweep had come would be chance.

class Plain
end

class Wide
  def initialize
    @a = @b = @c = @d = @e = @f = @g = @h = 1
  end
end

count = Integer(ARGV.fetch(1))
i = 0
case ARGV.fetch(0)
when "object"
  while i < count
    Plain.new
    i += 1
  end
when "string"
  while i < count
    +"an embedded string"
    i += 1
  end
when "array"
  while i < count
    [i, i, i]
    i += 1
  end
when "mixed"
  count /= 4
  while i < count
    Wide.new
    { key: i }
    [i, i, i, i, i, i, i, i]
    +"an embedded string"
    i += 1
  end
when "block"
  while i < count
    "x" * 1000
    i += 1
  end
when "append"
  while i < count
    text = +""
    stop = i + 1000
    while i < stop
      text << "some forty bytes of text that are added"
      i += 1
    end
  end
when "hash"
  while i < count
    table = {}
    stop = i + 1000
    while i < stop
      table[i] = i
      i += 1
    end
  end
else
  abort "allocate.rb: no such loop: #{ARGV[0]}: expected object, string, array, mixed, append or hash"
end

GC.start
