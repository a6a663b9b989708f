# frozen_string_literal: true

# peer.rb - which user is at the other end of a connection, and whether the program there is a client or passes on
# requests of other programs. The kernel is asked for that. Nothing that the other end sends counts.
#
# * A Unix socket has the credentials of the process that connected it (SO_PEERCRED).
# * A TCP connection within this host is two sockets. The other end's row in /proc/net/tcp or tcp6 is the one whose two
#   addresses are ours, exchanged. It has the user and the inode of the socket. A row without an inode has no
#   user: its process has closed the socket, and the kernel shows root then.
# * The processes are those that have that inode among their descriptors. All ids of each process have to be that
#   user's. So a setuid program does not count as the owner of its file.
# * A process is taken for a proxy if it listens, or if it has a connection of a port where a process listens.
#   A client such as curl does neither.
#
# Whatever cannot be seen is refused: a process of another user or container, or a row that is missing.
# cli/serve/answers.c does the same with attach/peer.c.

require "ipaddr"
require "socket"

module Heapprof
  class Rack
    class Peer # :nodoc:
      # Says why the other end is unknown, or why it may not ask.
      class Unknown < StandardError; end

      UNSEEN = "the client's process cannot be seen: ask as this process's user"

      PROXY = "the client's process answers requests itself, as a proxy does"

      # A row of the kernel's tables.
      Row = Struct.new(:local, :remote, :state, :uid, :inode)

      ESTABLISHED, FIN_WAIT1, FIN_WAIT2, LISTEN = %w[01 04 05 0A].freeze

      # The states of a socket whose process still waits for an answer.
      OPEN = [ESTABLISHED, FIN_WAIT1, FIN_WAIT2].freeze

      # A flag in /proc/net/unix.
      ACCEPTS = 0x10000

      MAPPED = "#{"\0" * 10}\xff\xff".b.freeze

      class << self
        # Returns the socket of a request, or nil if the server does not give it.
        def socket(env)
          io = env["puma.socket"] || env["unicorn.socket"] || env["pitchfork.socket"] || falcon(env["protocol.http.request"])
          io = io.to_io if !io.is_a?(BasicSocket) && io.respond_to?(:to_io) # TLS
          io if io.is_a?(BasicSocket)
        end

        # Returns the user at the other end. Raises Unknown unless it is one of the allowed users.
        def user(socket, allowed, proc: "/proc")
          new(socket, allowed, proc).user
        rescue SystemCallError, IOError
          raise Unknown, "the connection's other end cannot be told"
        end

        def loopback?(address)
          address = plain(address)
          address.ipv4_loopback? || address.ipv6_loopback?
        end

        # Returns the address as the tables write it: 32 bits at a time, in the machine's order. IPv4 may stand in either table.
        def names(address)
          port = format(":%04X", address.ip_port)
          bytes = IPAddr.new(plain(address).ip_address[/\A[^%]*/]).hton
          bytes.bytesize == 4 ? [words(bytes) + port, words(MAPPED + bytes) + port] : [words(bytes) + port]
        end

        private

        def words(bytes) = bytes.unpack("L*").map { |word| format("%08X", word) }.join

        # Returns an IPv4 address that is written as IPv6 (::ffff:127.0.0.1) as IPv4.
        def plain(address) = address.ipv6? && address.ipv6_v4mapped? ? address.ipv6_to_ipv4 : address

        def falcon(request)
          %i[connection stream io].reduce(request) { |object, name| object.public_send(name) if object.respond_to?(name) }
        end
      end

      def initialize(socket, allowed, proc)
        @socket = socket
        @allowed = allowed
        @proc = proc
      end

      def user
        @socket.local_address.unix? ? by_credentials : by_table
      end

      private

      def by_credentials
        pid, uid, = @socket.getsockopt(Socket::SOL_SOCKET, Socket::SO_PEERCRED).unpack("iII")
        permit(uid)
        raise Unknown, "the client is in another container" unless pid > 0
        permit_processes([pid], uid, nil)
      end

      def by_table
        raise Unknown, "the client is not on this host" unless self.class.loopback?(@socket.remote_address)
        rows = tcp_rows
        near, far = [@socket.local_address, @socket.remote_address].map { |address| self.class.names(address) }
        row = rows.find { |each| far.include?(each.local) && near.include?(each.remote) }
        unless row && OPEN.include?(row.state) && row.inode != "0"
          raise Unknown, "the client's socket is not in the kernel's tables"
        end
        permit(row.uid)
        permit_processes(holders(row.inode), row.uid, row.inode, rows)
      end

      def permit(uid)
        raise Unknown, "the client is user #{uid}, and this process is not" unless @allowed.include?(uid)
      end

      def permit_processes(pids, uid, inode, rows = tcp_rows)
        raise Unknown, UNSEEN if pids.empty?
        inbound = inbound_inodes(rows)
        pids.each do |pid|
          raise Unknown, "the client's process has other rights than its user" unless users_of(pid) == [uid]
          inodes = sockets_of(pid) - [inode]
          raise Unknown, PROXY if inodes.any? { |each| inbound.key?(each) }
        end
        uid
      rescue Errno::EACCES, Errno::EPERM, Errno::ENOENT, Errno::ESRCH
        raise Unknown, UNSEEN
      end

      # ---- processes ----

      # Returns the pids that have the socket open, of the processes that this one may look at.
      def holders(inode)
        link = "socket:[#{inode}]"
        Dir.children(@proc).grep(/\A\d+\z/).map(&:to_i).select do |pid|
          links_of(pid).include?(link)
        rescue SystemCallError
          false
        end
      end

      def links_of(pid)
        directory = "#{@proc}/#{pid}/fd"
        Dir.children(directory).filter_map do |name|
          File.readlink("#{directory}/#{name}")
        rescue Errno::ENOENT
          nil # closed meanwhile
        end
      end

      def sockets_of(pid) = links_of(pid).filter_map { |link| link[/\Asocket:\[(\d+)\]\z/, 1] }

      # Returns the real, the effective and the saved id.
      def users_of(pid)
        File.read("#{@proc}/#{pid}/status")[/^Uid:(.*)$/, 1].split.first(3).map(&:to_i).uniq
      end

      # ---- the kernel's tables ----

      def tcp_rows
        %w[tcp tcp6].flat_map do |name|
          File.foreach("#{@proc}/net/#{name}").drop(1).map do |line|
            _, local, remote, state, _, _, _, uid, _, inode = line.split
            Row.new(local, remote, state, uid.to_i, inode)
          end
        rescue Errno::ENOENT
          [] # no IPv6
        end
      end

      # Returns the sockets that listen, and those that a listening socket has accepted: they have its port or its path.
      def inbound_inodes(rows)
        ports = rows.select { |row| row.state == LISTEN }.to_h { |row| [row.local[/\h+\z/], true] }
        tcp = rows.select { |row| ports.key?(row.local[/\h+\z/]) }.map(&:inode)
        (tcp + inbound_unix).to_h { |inode| [inode, true] }
      end

      def inbound_unix
        rows = File.foreach("#{@proc}/net/unix").drop(1).map { |line| line.b.chomp.split(" ", 8).values_at(3, 6, 7) }
        listening = rows.select { |flags,| flags.hex & ACCEPTS != 0 }
        paths = listening.to_h { |_, _, path| [path, true] }
        (listening + rows.select { |_, _, path| path && paths.key?(path) }).map { |_, inode,| inode }
      end
    end
  end
end
