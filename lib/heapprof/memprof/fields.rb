# frozen_string_literal: true

module Memprof
  Reflection = ObjectSpace::HeapProfile::Reflection # :nodoc:

  # An object whose innermost line is in one of these was made by this layer itself.
  OWN = ["#{__dir__}/", "#{__dir__}.rb", File.expand_path("../plain.rb", __dir__)].freeze # :nodoc:

  # Makes a Hash for JSON of what an object holds. It calls the methods of the core classes, even if a program has overridden
  # them. It calls no method of the program.
  #
  # A value is a number, true, false or nil. A Symbol is ":name". Any other object is its address, which is the _id of the
  # object's own Hash.
  module Fields # :nodoc:
    ACCESS = { IO::RDONLY => "r", IO::WRONLY => "w", IO::RDWR => "r+" }.freeze
    private_constant :ACCESS

    class << self
      # Adds the fields to what Reflection says about the object. A field that cannot be read is left out: for instance the
      # object has only been allocated.
      def add(fields, object)
        if (function = FIELDS[fields["type"]])
          send(function, fields, object)
        end
        fields["ivars"] = ivars(object)
      rescue StandardError => error
        fields["unreadable"] = Reflection.text(error.message)
      end

      private

      def call(owner, name, object, *args) = owner.instance_method(name).bind_call(object, *args)

      def reference(value) = Reflection.reference(value)

      def references(values) = values.map { |value| reference(value) }

      def ivars(object)
        call(Kernel, :instance_variables, object).to_h do |name|
          [Reflection.text(name.name), reference(call(Kernel, :instance_variable_get, object, name))]
        end
      end

      # ---- values ----

      def of_string(fields, object)
        fields["length"] = call(String, :length, object)
        fields["bytes"] = call(String, :bytesize, object)
        fields["encoding"] = call(String, :encoding, object).name
        fields["data"] = Reflection.text(object)
      end

      def of_array(fields, object)
        fields["length"] = call(Array, :length, object)
        fields["data"] = references(call(Array, :to_a, object))
      end

      # Takes all pairs at once, because no other thread could add a key while a Hash is iterated over.
      def of_hash(fields, object)
        pairs = call(Hash, :to_a, object)
        fields["length"] = pairs.length
        fields["data"] = pairs.map { |pair| references(pair) }
        fields["default"] = reference(call(Hash, :default, object))
        fields["default_proc"] = reference(call(Hash, :default_proc, object))
      end

      # JSON cannot write a number that is not finite.
      def of_float(fields, object)
        fields["data"] = call(Float, :finite?, object) ? object : call(Float, :to_s, object)
      end

      def of_bignum(fields, object)
        fields["negative"] = call(Integer, :<, object, 0)
        fields["data"] = call(Integer, :to_s, object)
      end

      def of_rational(fields, object)
        fields["data"] = references([call(Rational, :numerator, object), call(Rational, :denominator, object)])
      end

      def of_complex(fields, object)
        fields["data"] = references([call(Complex, :real, object), call(Complex, :imaginary, object)])
      end

      def of_symbol(fields, object)
        fields["data"] = Reflection.text(call(Symbol, :name, object))
      end

      def of_regexp(fields, object)
        fields["data"] = Reflection.text(call(Regexp, :source, object))
        fields["options"] = call(Regexp, :options, object)
      end

      def of_match(fields, object)
        fields["data"] = Reflection.text(call(MatchData, :string, object))
        fields["regexp"] = reference(call(MatchData, :regexp, object))
      end

      def of_struct(fields, object)
        case object
        when Struct, Data
          owner = Struct === object ? Struct : Data
          fields["data"] = call(owner, :to_h, object).to_h { |name, value| [Reflection.text(name.name), reference(value)] }
        when Range
          fields["data"] = references([call(Range, :begin, object), call(Range, :end, object)])
          fields["exclude_end"] = call(Range, :exclude_end?, object)
        end
      end

      # ---- files ----

      def of_file(fields, object)
        fields["closed"] = call(IO, :closed?, object)
        return if fields["closed"]
        fields["fileno"] = call(IO, :fileno, object)
        fields["path"] = path(object)
        fields["mode"] = mode(object)
        fields["pid"] = call(IO, :pid, object)
      end

      def path(object)
        path = call(IO, :path, object)
        path && Reflection.text(path)
      end

      # Returns the mode as File.open takes it.
      def mode(object)
        flags = call(IO, :fcntl, object, 3) # F_GETFL
        mode = ACCESS[flags & (IO::RDWR | IO::WRONLY)]
        flags & IO::APPEND == 0 ? mode : mode.tr("wr", "a")
      end

      # ---- classes ----

      def of_module(fields, object)
        fields["class_variables"] = call(Module, :class_variables, object, false).to_h do |name|
          [Reflection.text(name.name), reference(call(Module, :class_variable_get, object, name))]
        end
      end

      # ---- code and threads ----

      def of_data(fields, object)
        case object
        when Proc then of_proc(fields, object)
        when Method then of_method(fields, object, Method, receiver: true)
        when UnboundMethod then of_method(fields, object, UnboundMethod, receiver: false)
        when Thread then of_thread(fields, object)
        end
      end

      def of_proc(fields, object)
        fields["lambda"] = call(Proc, :lambda?, object)
        return unless fields["scope"]
        binding = call(Proc, :binding, object)
        fields["self"] = reference(binding.receiver)
        fields["variables"] = binding.local_variables.to_h do |name|
          [Reflection.text(name.name), reference(binding.local_variable_get(name))]
        end
      end

      def of_method(fields, object, owner, receiver:)
        fields["receiver"] = reference(call(owner, :receiver, object)) if receiver
        fields["owner"] = reference(call(owner, :owner, object))
        fields["name"] = reference(call(owner, :name, object))
      end

      def of_thread(fields, object)
        fields["status"] = call(Thread, :status, object)
        fields["name"] = call(Thread, :name, object)&.then { |name| Reflection.text(name) }
        fields["priority"] = call(Thread, :priority, object)
        fields["main"] = Thread.main.equal?(object)
        fields["current"] = Thread.current.equal?(object)
        fields["locals"] = thread_locals(object)
        waiting(fields, object) if fields["status"] == "sleep"
      end

      # Returns the locals of the thread's fiber, and the thread's own.
      def thread_locals(object)
        { keys: :[], thread_variables: :thread_variable_get }.each_with_object({}) do |(names, get), locals|
          call(Thread, names, object).each do |name|
            locals[Reflection.text(name.name)] = reference(call(Thread, get, object, name))
          end
        end
      end

      # Returns the function that a thread sleeps in, and what it waits for.
      def waiting(fields, thread)
        function, receiver, argument = Reflection.innermost(thread)
        fields["wait_for"] = function
        fields["wait_on"] = reference(receiver)
        fields["join"] = reference(receiver) if Thread === receiver
        fields["fd"] = call(IO, :fileno, receiver) if IO === receiver
        fields["delay"] = argument.to_f if DELAYS.include?(function) && Numeric === argument
      end
    end

    # Functions whose last argument is the time that they wait.
    DELAYS = %w[Kernel#sleep Kernel.sleep Thread#join].freeze
    private_constant :DELAYS

    # Which method makes the fields, by the type of an object.
    FIELDS = {
      "string" => :of_string, "array" => :of_array, "hash" => :of_hash, "float" => :of_float, "bignum" => :of_bignum,
      "rational" => :of_rational, "complex" => :of_complex, "symbol" => :of_symbol, "regexp" => :of_regexp,
      "match" => :of_match, "struct" => :of_struct, "file" => :of_file, "class" => :of_module, "module" => :of_module,
      "data" => :of_data
    }.freeze
    private_constant :FIELDS
  end
end
