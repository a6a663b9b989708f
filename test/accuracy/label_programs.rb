# frozen_string_literal: true

# label_programs.rb - the same programs with labels: every other round belongs to the endpoint that is counted, and estimates
# are of the rows that have its label. The scenario says how a round gets its label.

require_relative "programs"
require_relative "block_programs"

module Accuracy
  module Labels
    COUNTED, OTHER = %w[counted other].map { |name| HeapProfile::Label.new(endpoint: name) }

    private

    def counted?(round) = round.odd?

    def counted(rows) = rows.select { |row| row.labels[:endpoint] == "counted" }

    def around(round, &block)
      send(@scenario.labels, counted?(round) ? COUNTED : OTHER, &block)
    end

    # ---- how a round gets its label ----

    def by_block(label, &) = HeapProfile.label(label, &)

    def by_change(label)
      before = HeapProfile.label!(label)
      yield
    ensure
      HeapProfile.label!(before)
    end

    # What is made has no name yet.
    def by_name_that_comes_late(label)
      HeapProfile.label(late: :endpoint) do
        yield
        HeapProfile.label(label) {}
      end
    end

    # A fiber of its own, which has the labels of the code that calls next.
    def by_enumerator(label, &block)
      @enumerator ||= Enumerator.new { |yielder| loop { yielder << @work.call } }
      @work = block
      HeapProfile.label(label) { @enumerator.next }
    end

    def by_new_thread(label, &block) = HeapProfile.label(label) { Thread.new(&block).join }

    # A pool's thread is made in a round of the other endpoint, and lives on.
    def by_pool(label, &block)
      @work, @done = Queue.new, Queue.new unless @pool
      @pool ||= HeapProfile.label(COUNTED) { Thread.new { @done << work_off(*@work.pop) while true } }
      @work << [label, block]
      @done.pop
    end

    def work_off(label, block) = HeapProfile.label(label, &block)
  end

  class LabelPrograms < Programs
    include Labels
  end

  class LabelBlockPrograms < BlockPrograms
    include Labels
  end
end
