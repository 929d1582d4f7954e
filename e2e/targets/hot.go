// Goroutines on several threads, whose scheduler sends itself SIGURG; a child, and a handler.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	_ "os/user" // with cgo, this needs the C library
	"runtime"
	"sync"
	"syscall"
	"time"
)

//go:noinline
func burnInGoroutine(n int) (x uint32) {
	x = 1
	for i := 0; i < n*3000000; i++ {
		x = x*1664525 + 1013904223
	}
	return x
}

func main() {
	runtime.GOMAXPROCS(4)
	var group sync.WaitGroup
	sums := make([]uint32, 8)
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			sums[i] = burnInGoroutine(20)
		}(i)
	}
	// Only preemption by signals lets this one run.
	ticks := 0
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; ticks++ {
		time.Sleep(time.Millisecond)
	}
	group.Wait()
	fmt.Println(sums[0] == sums[7], ticks > 0)
	out, err := exec.Command("sh", "-c", "echo child $LD_PRELOAD; exit 3").Output()
	fmt.Print(string(out), err, "\n")
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-signals)
	func() {
		defer func() { fmt.Println(recover()) }()
		var nowhere *int
		*nowhere = 1
	}()
	os.Exit(6)
}
