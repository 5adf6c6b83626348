package stdio

import (
	"os"
	"syscall"
	"testing"
)

// TestSharedMemoryCounts checks that memory which a process shares with its children counts for a
// limit, and below the limit all resident pages do.
func TestSharedMemoryCounts(t *testing.T) {
	const size = 64 << 20
	pid := os.Getpid()
	before, known := proportionalMemory(pid)
	if !known {
		t.Fatal("the memory of this process is unknown")
	}
	shared, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(shared) }()
	for i := 0; i < len(shared); i += os.Getpagesize() {
		shared[i] = 1
	}
	if after, _ := proportionalMemory(pid); after-before < size/2 {
		t.Errorf("%d bytes of shared memory count as %d", size, after-before)
	}
	if bound, _ := residentPages(pid); bound < size {
		t.Errorf("the upper bound is %d bytes, less than the %d bytes of shared memory", bound, size)
	}
}
