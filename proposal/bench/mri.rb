# frozen_string_literal: true

require "yaml"

# mri.rb - the benchmarks of MRI's own folder benchmark/ that are of the gc and the vm, as scripts of ARGV[0] steps.
module MRI
  FOLDER = File.join(Loops::BUILD, "src/benchmark")
  FILES = %w[vm_gc_short_lived vm_gc_short_with_long vm_gc_wb_ary_promoted vm_gc_wb_obj object_allocate vm_array
             vm_ivar_embedded_obj_init hash_new].freeze
  # Of object_allocate the same allocation; of hash_new tables of 1,000 and 100,000 keys in each step, which take a day under callgrind.
  LEFT_OUT = /_deep\z|_positional_|_1k\z|_100k\z/

  # Names and code.
  def self.scripts
    FILES.flat_map do |file|
      benchmark = YAML.load_file(File.join(FOLDER, "#{file}.yml"))
      all = benchmark["benchmark"]
      all = { file => all } if all.is_a?(String)
      all.reject { |name,| name.match?(LEFT_OUT) }.map do |name, code|
        [name, "#{benchmark['prelude']}\ni = 0\nwhile i < ARGV[0].to_i\n  i += 1\n#{code}\nend\n"]
      end
    end
  end
end
