// Goroutines that work and are preempted by signals, on stacks of two kilobytes that lie side by side. Each line of
// input is answered. It ends with its input, says if all of their results were right, and exits with 7.
package main

import (
	"bufio"
	"fmt"
	"os"
	_ "os/user" // with cgo, this needs the C library
	"runtime"
	"sync"
	"sync/atomic"
)

var over atomic.Bool

//go:noinline
func burns() (x uint32) {
	x = 1
	for i := 0; i < 300000; i++ {
		x = x*1664525 + 1013904223
	}
	return x
}

func main() {
	runtime.GOMAXPROCS(4)
	expected := burns()
	var group sync.WaitGroup
	var wrong atomic.Int32
	for i := 0; i < 16; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for !over.Load() {
				if burns() != expected {
					wrong.Add(1)
				}
			}
		}()
	}
	fmt.Println("begun")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		fmt.Println("done")
	}
	over.Store(true)
	group.Wait()
	fmt.Println(wrong.Load() == 0)
	os.Exit(7)
}
