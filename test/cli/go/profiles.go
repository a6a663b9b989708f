// profiles.go - writes Go's own profiles of itself, for test_agreement.rb.
//
//	go run profiles.go DIRECTORY
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
)

var kept [][]byte
var texts []string

func grow(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 1000+i))
		texts = append(texts, strings.Repeat(fmt.Sprint(i), 20))
	}
	sort.Strings(texts)
}

func spin(depth int) int {
	if depth == 0 {
		sum := 0
		for i := 0; i < 3000000; i++ {
			sum += i % 7
		}
		return sum
	}
	return spin(depth-1) + 1
}

func write(directory, name string, profile *pprof.Profile) {
	file, err := os.Create(filepath.Join(directory, name))
	if err == nil {
		err = profile.WriteTo(file, 0)
	}
	if err != nil {
		panic(err)
	}
	file.Close()
}

func main() {
	directory := os.Args[1]
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	cpu, _ := os.Create(filepath.Join(directory, "go-cpu.pb.gz"))
	pprof.StartCPUProfile(cpu)
	var lock sync.Mutex
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := 0; n < 10; n++ {
				lock.Lock()
				spin(20)
				lock.Unlock()
			}
		}()
	}
	grow(2000)
	group.Wait()
	pprof.StopCPUProfile()
	cpu.Close()
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "goroutine", "threadcreate", "block", "mutex"} {
		write(directory, "go-"+name+".pb.gz", pprof.Lookup(name))
	}
	grow(3000)
	runtime.GC()
	write(directory, "go-heap-2.pb.gz", pprof.Lookup("heap"))
}
