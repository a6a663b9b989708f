# frozen_string_literal: true

# test_descriptor.rb - what a running image says of its structures (vm/outside/descriptor.c) is what the compiler says
# of them: each entry is compared with the debug information of the file of MRI that it is about, and a
# wrong one is found.

require "json"
require_relative "lib/heapprof_test"

class TestHeapProfDescriptor < Test::Unit::TestCase
  include HeapProfTest

  DEBUG_INFORMATION = File.join(__dir__, "lib/debug_information.py")
  HEADER = "a16SSLLL"
  ENTRY = "a48SSLq"
  KINDS = [nil, :type, :field, :global, :constant, :contract, :part]
  CONTRACTS = { "stack" => 1, "line-table" => 1, "symbols" => 1, "heapprof" => 1, "labels" => 1, "label-sets" => 1,
                "jit-code" => 1, "locals" => 1, "requests" => 2 }
  PARTS = %w[iseq.c symbol.c cont.c thread.c gc.c]

  # make check-descriptor-aarch64: another image than the ruby that runs this, and what emulates its machine.
  IMAGE = ENV["DESCRIPTOR_IMAGE"]
  EMULATOR = ENV["DESCRIPTOR_EMULATOR"]

  Entry = Struct.new(:name, :kind, :form, :size, :number) do
    # What the debug information has to say of it.
    def facts
      case kind
      when :type then [size]
      when :field, :global then [form, number, size]
      when :constant, :part then [number]
      end
    end

    # Each of these is another entry that is wrong.
    def mutations
      case kind
      when :type then [{ size: size + 8 }]
      when :field, :global then [{ number: number + 8 }, { size: size + 1 }, { form: form % 5 + 1 }]
      when :constant, :part then [{ number: number + 8 }]
      else []
      end.map { |change| dup.tap { |copy| change.each { |member, value| copy[member] = value } } }
    end
  end

  def test_every_entry_is_what_the_debug_information_says
    objects.each do |part, (entries, facts)|
      assert_empty differences(entries, facts), "entries of #{part.empty? ? 'the whole' : part} are wrong"
    end
  end

  def test_one_wrong_entry_is_found
    objects.each_value do |entries, facts|
      entries.each_with_index do |entry, i|
        next if UNSAID.include?(entry.name)
        entry.mutations.each do |wrong|
          changed = entries.dup.tap { |copy| copy[i] = wrong }
          assert_equal [wrong.name], differences(changed, facts), "#{entry} to #{wrong}"
        end
      end
    end
  end

  def test_contracts_and_parts_are_those_of_the_documentation
    whole, = objects.fetch("")
    assert_equal CONTRACTS, whole.select { |entry| entry.kind == :contract }.to_h { |entry| [entry.name, entry.number] }
    assert_equal PARTS, whole.select { |entry| entry.kind == :part }.map(&:name)
    assert_equal ["", *PARTS], objects.keys
  end

  # Its address is compared as every global's is.
  def test_every_part_leads_back_to_the_whole
    PARTS.each do |part|
      entries, = objects.fetch(part)
      assert_equal [["ruby_vm_descriptor", :global]], entries.first(1).map { |entry| [entry.name, entry.kind] }
    end
  end

  def test_no_name_is_given_twice
    objects.each_value do |entries,|
      names = entries.map { |entry| [entry.kind, entry.name] }
      assert_equal names.uniq, names
    end
  end

  # So it is found without debug symbols, and default core files have it.
  def test_it_is_exported_and_in_writable_data
    file = !IMAGE && RbConfig::CONFIG["ENABLE_SHARED"] == "yes" ? libruby : image
    symbol = readelf("--dyn-syms", file)[/OBJECT +GLOBAL +DEFAULT +\d+ ruby_vm_descriptor$/]
    assert symbol, "#{file} does not export it"
    assert_match(/^ *\[ *#{symbol[/\d+/]}\] \.data /, readelf("-S", file))
  end

  private

  # For each object its entries and what the debug information says of them; the whole is that without a name.
  def objects
    @@objects ||= ask_gdb.transform_values do |said|
      [entries([said["object"]].pack("H*")), said["facts"]]
    end
  end

  # In a checking build it is made of a type that the debug information leaves out.
  UNSAID = DEBUG_BUILD ? ["BASE_SLOT_SIZE"] : []

  def differences(entries, facts)
    entries.select { |entry| entry.facts && !UNSAID.include?(entry.name) && entry.facts != facts[entry.name] }.map(&:name)
  end

  def entries(object)
    magic, format, pointer, begins, size, count = object.unpack(HEADER)
    assert_equal ["ruby descriptor\0", 1, [0].pack("J").size], [magic, format, pointer]
    assert_equal object.bytesize, begins + size * count
    Array.new(count) do |i|
      name, kind, form, bytes, number = object.unpack(ENTRY, offset: begins + size * i)
      assert_match(/\A[^\0]+\0+\z/, name)
      Entry.new(name.delete("\0"), KINDS.fetch(kind), form, bytes, number)
    end
  end

  def ask_gdb
    in_directory do
      out, status = EMULATOR ? ask_gdb_of_another_machine : gdb("gdb", image)
      assert File.exist?("facts"), "gdb: #{status}: #{out}"
      JSON.parse(File.read("facts"))
    end
  rescue Errno::ENOENT => error
    flunk "#{error}: install the Debian packages that test/README.md names"
  end

  def gdb(name, program, env = {})
    command = [name, "-batch", "-nx", "-x", DEBUG_INFORMATION, "--args", program, "--version"]
    Open3.capture2e(clean(env.merge("DESCRIPTOR_OUT" => "facts")), *command, stdin_data: "")
  end

  # The emulator waits for gdb at a socket.
  def ask_gdb_of_another_machine
    pid = spawn(*EMULATOR.split, "-g", "socket", image, "--version", out: File::NULL, err: File::NULL)
    ended = nil
    sleep 0.01 until File.exist?("socket") || (ended = Process.wait(pid, Process::WNOHANG))
    ended and flunk "#{EMULATOR} #{image}: #{$?}"
    gdb("gdb-multiarch", image, "DESCRIPTOR_TARGET" => "socket")
  ensure
    Process.wait(pid) if pid && !ended
  end

  def image = IMAGE || EnvUtil.rubybin

  def libruby
    Dir[File.join(File.dirname(EnvUtil.rubybin), RbConfig::CONFIG["LIBRUBY"])].first
  end

  def readelf(*args)
    out, status = Open3.capture2("readelf", "-W", *args)
    assert status.success?
    out
  end
end
