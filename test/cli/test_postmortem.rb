# frozen_string_literal: true

# test_postmortem.rb - heapprof postmortem (cli/postmortem): what filled memory, of files whose contents are known here. Processes
# that die, and what they leave, are in test/ruby/test_marks.rb.

require_relative "lib/graph_bytes"
require_relative "lib/heapprof_command"

class TestPostmortem < Test::Unit::TestCase
  include HeapprofCommand

  MB = 1 << 20

  # A file of a process: megabytes by what they are. strings and objects have half of them in slots.
  def file(seconds, pid: 42, strings: 10, objects: 10, malloc: 10, sampled: malloc, slack: 5, free: 5, rest: 10, unexplained: 0, others: nil,
           mark: "85%", title: "puma", labels: {}, comments: [], directory: "/srv", code: "/srv")
    profile = ProfileBytes.new.type("inuse_slot_space", "bytes").type("inuse_malloc_space", "bytes").type("inuse_space", "bytes")
                          .type("rss_space", "bytes")
    profile.add_number(9, seconds * 1_000_000_000)
    ["pid: #{pid}", "title: #{title}", "directory: #{directory}", ("mark: #{mark}" if mark),
     ("other processes: #{others * MB} bytes, 1" if others), ("largest other: #{others * MB} bytes, 77 convert" if others),
     *comments].compact.each { |text| profile.comment(text) }
    row = ->(frames, slot, block, rss, more) { profile.sample(frames, [slot, block, slot + block, rss].map { |mb| (mb * MB).to_i }, more) }
    row.(["#{code}/a.rb:1 A#read"], strings / 2.0, 0, 0, { class: "String" }.merge(labels))
    row.(["#{code}/a.rb:1 A#read"], 0, strings / 2.0, 0, { class: "String", owner: "String", caller: "str_new (ruby)" }.merge(labels))
    row.(["#{code}/b.rb:2 B#keep"], objects / 2.0, 0, 0, { class: "Node" })
    row.(["#{code}/b.rb:2 B#keep"], 0, objects / 2.0, 0, { class: "Array", owner: "Array", caller: "ary_new (ruby)" })
    row.(["#{code}/c.rb:3 C#draw"], 0, sampled, 0, { class: "[thumb.so]", caller: "thumb_new (thumb.so)" })
    { "slots" => (strings + objects) / 2.0, "malloc" => (strings + objects) / 2.0 + malloc, "allocator slack" => slack, "free slots" => free,
      "files" => rest, "unexplained" => unexplained }.each { |name, mb| row.([":0 [VM] #{name}"], 0, 0, mb, { class: "[VM]" }) }
    profile
  end

  # The words of each file are its column of a row of the table.
  def postmortem(*files)
    in_directory do
      names = files.each_with_index.map { |bytes, i| write("#{i}.pb.gz", bytes) }
      yield heapprof!("postmortem", *names).out
    end
  end

  def assert_verdict(verdict, *files)
    postmortem(*files) { |out| assert_match(/^Verdict: #{Regexp.escape(verdict)}/, out) }
  end

  def test_of_several_files_the_verdict_is_what_grew_most
    first = file(100, objects: 300)
    assert_verdict "strings. Strings hold 60 MB, 50 MB more than 60 seconds before: 83% of what grew.\nThe line of the application that grew most: a.rb:1",
                   first, file(160, objects: 310, strings: 60)
    assert_verdict "objects. Objects and what they own hold 400 MB, 100 MB more", first, file(160, objects: 400)
    assert_verdict "malloc. Memory that C code has requested of malloc takes 90 MB, 80 MB more than 60 seconds before: 100% of what grew.\n" \
                   "90 MB of it by thumb_new (thumb.so).\n\n", first, file(160, objects: 300, malloc: 90)
    assert_verdict "malloc. Memory that C code has requested of malloc takes 90 MB, 80 MB more than 60 seconds before: 100% of what grew.\n" \
                   "500 MB were requested by thumb_new (thumb.so): what it has never touched takes no memory.\n\n",
                   first, file(160, objects: 0, strings: 0, malloc: 90, sampled: 500)
    assert_verdict "malloc. Memory that C code has requested of malloc takes 90 MB, 80 MB more than 60 seconds before: 100% of what grew.\n" \
                   "1 MB of it by thumb_new (thumb.so).\nWhich extension: RUBY_HEAPPROF=malloc=all", first, file(160, objects: 300, malloc: 90, sampled: 1)
    assert_verdict "fragmentation. Memory that is free inside of Ruby and malloc takes 90 MB, 80 MB more",
                   first, file(160, objects: 300, slack: 45, free: 45)
    assert_verdict "stacks, code and files. ", first, file(160, objects: 300, rest: 90)
    assert_verdict "another process. Other processes of the group take 90 MB, 80 MB more than 60 seconds before: 100% of what grew.\n" \
                   "The largest of them: #{90 * MB} bytes, 77 convert.",
                   file(100, objects: 300, others: 10), file(160, objects: 300, others: 90)
    assert_verdict "memory did not grow between these files.", first, file(160, objects: 290)
  end

  def test_of_one_file_the_verdict_is_what_is_largest
    assert_verdict "objects. Objects and what they own hold 300 MB.\nThe line of the application that holds most: b.rb:2", file(100, objects: 300)
    assert_verdict "another process. ", file(100, objects: 300, others: 400)
  end

  # The program was started as "ruby ../app/a.rb". Where all is Ruby's library, no line is its own.
  def test_the_application_lies_elsewhere
    assert_verdict "strings. Strings hold 60 MB, 50 MB more than 60 seconds before: 100% of what grew.\nThe line of the application that grew most: /srv/a.rb:1",
                   file(100, directory: "/home/me"), file(160, strings: 60, directory: "/home/me")
    postmortem(*[10, 60].map { |strings| file(100 + strings, strings: strings, code: "/opt/ruby/lib/ruby/3.4.0") }) do |out|
      assert_match(/^The function that grew most: A#read/, out)
      assert_match(/^In use over time, by function:$/, out)
    end
  end

  def test_one_second_is_one_second
    postmortem(file(100, strings: 10), file(101, strings: 40)) { |out| assert_match(/: 2 files of 1 second\n\n.* 30 MB more than 1 second before: /, out) }
  end

  def test_files_are_taken_in_the_order_of_their_times
    files = [file(100, strings: 10), file(130, strings: 40), file(160, strings: 90)]
    postmortem(*files) do |out|
      postmortem(*files.reverse) { |reversed| assert_equal out.lines[0..-4], reversed.lines[0..-4] }
      assert_match(/^process 42 \(puma\): 3 files of 60 seconds$/, out)
      assert_match(/^ +10 MB +40 MB +90 MB +a\.rb:1/, out[/^In use over time, by line:.*?\n\n/m])
      assert_match(/^ +40 MB +90 MB +a\.rb:1/, out[/^The last step, by line, before and after:.*?\n\n/m])
    end
  end

  def test_kinds_add_up_to_rss
    postmortem(file(100, strings: 11, objects: 12, malloc: 13, slack: 14, free: 15, rest: 16, unexplained: 17, others: 18)) do |out|
      assert_match(/^00:01:40 +85% +- +98 MB +11 MB +12 MB +13 MB +29 MB +33 MB +18 MB$/, out)
      assert_match(/^How certain: the last file explains 82\.7% of RSS$/, out)
    end
  end

  def test_samples_that_are_more_than_their_rung_share_it
    postmortem(file(100, strings: 10, objects: 10, malloc: 0, sampled: 10)) { |out| assert_match(/ 40 MB +7.50 MB +7.50 MB +5 MB /, out) }
  end

  def test_the_limit_is_told
    said = ["limit: 450000000 of 536870912 bytes, memory.max", "limit reached: high 0, max 31, killed 0", "resident: 1 bytes",
            "written by a copy: the program did not give up the GVL"]
    postmortem(file(100, comments: said)) do |out|
      assert_include out, "the limit is 512 MB (memory.max), and the last file was written at 429 MB; it was reached 31 times before\n"
      assert_include out, "the last file was written by a copy: the program was in C code, and did not answer\n"
      assert_match(/^00:01:40 +85% +429 MB /, out)
    end
  end

  def test_a_crash_is_told
    postmortem(file(100, mark: nil, comments: ["written by a copy: the program crashed"])) do |out|
      assert_include out, "the last file was written by a copy: the program has crashed\n"
    end
    postmortem(file(100, mark: nil, comments: ["written by a copy: memory was used up"])) do |out|
      assert_include out, "the last file was written by a copy: the program had no memory left\n"
    end
  end

  # What they are compared to is in test_marks.rb, with dumps of a process.
  def test_dumps_beside_the_files
    graph = GraphBytes.new
    graph.root(:GLOBAL, "$cache", graph.object("Array", 40))
    dump = graph.bytes
    in_directory do
      paths = [file(100), file(160, strings: 50)].each_with_index.map { |bytes, i| write("#{i}.pb.gz", bytes) }
      said = -> { heapprof!("postmortem", *paths).out }
      plain = said.()
      File.write("0.rbgraph", "no dump")
      assert_equal plain, said.()
      File.binwrite("1.rbgraph", dump)
      assert_equal "#{plain}      heapprof graph report 1.rbgraph\n", said.()
      File.binwrite("0.rbgraph", dump)
      assert_equal "#{plain}      heapprof graph report 1.rbgraph\n", said.(), "nothing grew"
      File.binwrite("0.rbgraph", dump[0...-20])
      ran = heapprof("postmortem", *paths)
      assert_equal [0, "#{plain}      heapprof graph report 1.rbgraph\n"], [ran.status, ran.out]
      assert_match(/\Aheapprof postmortem: 0\.rbgraph: .*\n\z/, ran.err)
    end
  end

  def test_labels_of_the_program_are_told
    postmortem(file(100, labels: { endpoint: "GET /a" }), file(160, strings: 50, labels: { endpoint: "GET /a" })) do |out|
      assert_match(/^By label endpoint:\n +10 MB +50 MB +GET \/a$/, out)
      assert_not_match(/By label (class|owner|caller)/, out)
    end
  end

  def test_of_several_processes_the_largest_is_shown
    postmortem(file(100, pid: 1, title: "one"), file(101, pid: 2, title: "two"), file(160, pid: 1, strings: 90, title: "one"), file(161, pid: 2, title: "two")) do |out|
      assert_match(/^process 1 \(one\): 2 files of 60 seconds; 2 files of other processes not shown$/, out)
    end
  end

  # Files of every= have no mark, those of other versions no account of RSS.
  def test_files_without_a_mark_are_read_too
    postmortem(shop, shop(strings: 100_000)) { |out| assert_match(/^Verdict: memory did not grow|^Verdict: objects|^Verdict: strings/, out) }
    in_directory do
      write("heap.pb.gz", shop)
      assert_match(/cart\.rb:12/, heapprof!("postmortem", "heap.pb.gz").out)
    end
  end

  def test_what_is_no_profile_of_a_heap_is_refused
    in_directory do
      write("cpu.pb.gz", ProfileBytes.new.type("cpu", "nanoseconds").sample(["a:1 b"], [1]))
      assert_refused 1, /\Aheapprof postmortem: cpu\.pb\.gz: has no inuse_space: not a profile of a heap$/, "postmortem", "cpu.pb.gz"
      File.write("text", "nothing")
      assert_refused 1, /\Aheapprof postmortem: text: /, "postmortem", "text"
      assert_refused 1, /\Aheapprof postmortem: missing: /, "postmortem", "missing"
    end
    assert_refused 2, /\Aheapprof postmortem: /, "postmortem"
  end

  # Names and comments may have anything: nothing that a terminal obeys comes out, and no number breaks a line.
  def test_hostile_comments
    evil = "\e[31m\u202eevil\nVerdict: nothing"
    hostile = ["limit: 99999999999999999999999 of -1 bytes, #{evil}", "limit reached: x, max ,", "largest other: #{evil}", "other processes: -5",
               "resident: 18446744073709551615"]
    [file(100, title: evil, mark: evil, labels: { evil => evil }, comments: hostile),
     file(2**62 / 1_000_000_000, strings: 0, objects: 0, malloc: 0, slack: 0, free: 0, rest: 0)].each do |bytes|
      postmortem(bytes) do |out|
        assert_not_match(/[\e\u202e]/, out)
        assert_equal 1, out.scan(/^Verdict:/).size
      end
    end
  end
end
