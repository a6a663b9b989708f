# Stock MRI 3.4.5, a whole ruby, fails in 1 of 4 to 50 runs: threads and Ractors ask at once for a converter that is not loaded yet. Then
# String#encode raises Encoding::ConverterNotFoundError, or the process ends by "No live threads left. Deadlock?", or by [BUG] cfp consistency
# error in vm_call_cfunc. With threads alone, or Ractors alone: 0 of 120 each.
#   for i in $(seq 300); do ruby --disable-gems encode-in-ractors-and-threads.rb >/dev/null 2>&1; echo $?; done | sort | uniq -c
# Diagnosis: a Ractor has its require done by the main one, which interrupts a thread there; not isolated.
Warning[:experimental] = false
threads = Array.new(2) { Thread.new { "a".encode("UTF-16") } }
ractors = Array.new(2) { Ractor.new { "a".encode("UTF-16") } }
threads.each(&:join)
ractors.each(&:take)
