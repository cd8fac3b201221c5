package heap

import "testing"

var keep []byte

func TestWhatIsAllocatedIsCounted(t *testing.T) {
	n := Allocated(func() {
		for range 10 {
			keep = make([]byte, 10<<20)
		}
	})
	if n < 100<<20 || n > 150<<20 {
		t.Errorf("%d bytes were counted for 10 times 10 MiB", n)
	}
}
