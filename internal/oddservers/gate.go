package oddservers

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// gate is a gateway over stdio. The first argument names its misbehaviour; the others are the
// command of its upstream server. It passes lines on in both directions.
func gate(args []string) int {
	server := exec.Command(args[1], args[2:]...) //nolint:gosec // from a script
	in, errIn := server.StdinPipe()
	out, errOut := server.StdoutPipe()
	if errIn != nil || errOut != nil || server.Start() != nil {
		return 1
	}
	var mu sync.Mutex
	say := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(os.Stdout, line+"\n")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		eachLine(out, func(line string) {
			if args[0] != "drops-progress" || !strings.Contains(line, "notifications/progress") {
				say(line)
			}
		})
	}()
	eachLine(os.Stdin, func(line string) {
		if args[0] == "answers-notifications" && strings.Contains(line, "notifications/cancelled") {
			say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown"}}`)
		}
		_, _ = io.WriteString(in, line+"\n")
	})
	_ = in.Close()
	<-ended
	_ = server.Wait()
	return 0
}

func eachLine(r io.Reader, each func(string)) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		each(string(slices.Clone(s.Bytes())))
	}
}
