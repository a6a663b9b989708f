# frozen_string_literal: true

# descriptor.rb - what a reader outside finds by the descriptor (vm/outside/descriptor.c), found by a process in itself.

require "fiddle"

module Descriptor
  Entry = Struct.new(:kind, :size, :number)
  GLOBAL = 3
  PART = 6

  # Kind and name of each entry, of all parts.
  def self.entries
    @entries ||= read(Fiddle::Handle::DEFAULT["ruby_vm_descriptor"])
  end

  def self.read(address)
    _, _, _, begins, size, count = Fiddle::Pointer.new(address)[0, 32].unpack("a16SSLLL")
    bytes = Fiddle::Pointer.new(address + begins)[0, size * count]
    count.times.with_object({}) do |i, found|
      name, kind, _, field_size, number = bytes.unpack("a48SSLq", offset: size * i)
      found[name.delete("\0")] = Entry.new(kind, field_size, number)
      found.merge!(read(number)) if kind == PART
    end
  end

  # The number that a global is now, or that is at a field of it.
  def self.value(global, field = nil)
    entry = entries.fetch(global)
    offset, size = field ? entries.fetch(field).then { |found| [found.number, found.size] } : [0, entry.size]
    Fiddle::Pointer.new(entry.number)[offset, size].unpack1({ 1 => "C", 2 => "S", 4 => "L", 8 => "Q" }.fetch(size))
  end

  entries # a call later makes nothing but what it returns
end
