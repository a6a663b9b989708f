// subject.h - compiles subject.c, and runs it as a child that does as it is told.

#ifndef HEAPPROF_ATTACH_SUBJECT_H
#define HEAPPROF_ATTACH_SUBJECT_H

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

// A directory with what is made in it, gone at the end.
class Scratch {
  public:
    Scratch()
    {
        std::string pattern = testing::TempDir() + "attach-XXXXXX";
        if (!mkdtemp(&pattern[0])) abort();
        path_ = pattern;
    }
    Scratch(const Scratch &) = delete;
    ~Scratch() { Run("rm -rf '" + path_ + "'"); }

    const std::string &path() const { return path_; }
    std::string operator/(const std::string &name) const { return path_ + "/" + name; }

    static bool
    Run(const std::string &command)
    {
        return system(command.c_str()) == 0;
    }

    // The subject under that name, compiled and linked with those flags.
    std::string
    Compile(const std::string &name, const std::string &flags = "")
    {
        std::string file = __FILE__, unit = file.substr(0, file.rfind('/'));
        std::string command = "cc -w -pthread -iquote " + unit + "/../../.. " + unit +
                              "/subject.c -o '" + *this / name + "'";
        EXPECT_TRUE(Run(command + " " + flags)) << flags;
        return *this / name;
    }

  private:
    std::string path_;
};

// A child process that runs a program, or a function of ours, with pipes to its stdin and from its
// stdout.
class Child {
  public:
    explicit Child(const std::string &program)
        : Child([program] {
              execl(program.c_str(), program.c_str(), static_cast<char *>(nullptr));
              perror(program.c_str());
          })
    {
    }

    explicit Child(const std::function<void()> &function)
    {
        int in[2], out[2];
        if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) abort();
        fflush(nullptr); // or the child says what we have not said yet
        pid_ = fork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            dup2(in[0], 0);
            dup2(out[1], 1);
            function();
            _exit(0);
        }
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = fdopen(out[0], "r");
    }

    Child(const Child &) = delete;

    ~Child()
    {
        close(to_);
        fclose(from_);
        if (pid_ > 0) Kill();
    }

    pid_t pid() const { return pid_; }

    // The next line that it says, without its newline.
    std::string
    Line()
    {
        char line[256] = "";
        if (!fgets(line, sizeof(line), from_)) return "";
        std::string text = line;
        if (!text.empty() && text.back() == '\n') text.pop_back();
        return text;
    }

    // Has it obey; what it says before "done".
    std::string
    Tell(char command)
    {
        if (write(to_, &command, 1) != 1) abort();
        if (command == 'x' || command == 'e') return "";
        std::string said, line;
        while ((line = Line()) != std::string("done ") + command && !line.empty()) said = line;
        return said;
    }

    // The bytes of a pid.
    pid_t
    RawPid()
    {
        pid_t pid = 0;
        EXPECT_EQ(1u, fread(&pid, sizeof(pid), 1, from_));
        return pid;
    }

    // "ready ADDRESS"
    uint64_t
    Ready()
    {
        std::string line = Line();
        EXPECT_EQ("ready", line.substr(0, 5)) << line;
        return line.size() > 6 ? strtoull(line.c_str() + 6, nullptr, 16) : 0;
    }

    // Its end, and its status as waitpid says.
    int
    Wait()
    {
        int status = -1;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
        pid_ = 0;
        return status;
    }

    int
    Kill(int signal = SIGKILL)
    {
        kill(pid_, signal);
        return Wait();
    }

    // 'R', 'S', 'T', ... of one of its threads.
    static char
    State(pid_t tid)
    {
        char path[64], line[256];
        snprintf(path, sizeof(path), "/proc/%d/status", tid);
        FILE *file = fopen(path, "re");
        char state = 0;
        while (file && fgets(line, sizeof(line), file)) {
            if (sscanf(line, "State: %c", &state) == 1) break;
        }
        if (file) fclose(file);
        return state;
    }

    // Waits until it is so.
    static void
    Until(const std::function<bool()> &condition)
    {
        for (int times = 0; times < 20000 && !condition(); times++) usleep(1000);
        EXPECT_TRUE(condition());
    }

  private:
    pid_t pid_;
    int to_;
    FILE *from_;
};

#endif
