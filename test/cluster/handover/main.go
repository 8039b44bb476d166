// A web server that is upgraded hot, for tests of SidecarSets with real nodes. Two containers of one pod run it; what
// it does follows from SIDECARSET_VERSION and SIDECARSET_VERSION_ALT, the version of the other container:
//
//	VERSION > 0, ALT = 0      it serves alone
//	VERSION > ALT > 0         it takes the listening socket over from the other one, which stops accepting
//	otherwise                 it idles
//
// The socket itself is handed over, so that no connection that waits in its queue is lost. The address of the handover is
// abstract: it belongs to the network namespace of the pod. When it has settled it makes /tmp/settled, for postStart.
package main

import (
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	address  = ":8080"
	handover = "@refit-handover"
	page     = "/usr/share/nginx/html/index.html"
	settled  = "/tmp/settled"
)

func main() {
	version, other := number("SIDECARSET_VERSION"), number("SIDECARSET_VERSION_ALT")
	if version > other {
		listener := must(open(other))
		content := must(os.ReadFile(page))
		go http.Serve(listener, http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
			answer.Write(content)
		}))
		go giveAway(listener)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, os.Interrupt)
	check(os.WriteFile(settled, nil, 0o644))
	<-ended
}

// open listens, or takes the socket over from a container of the version `other`.
func open(other uint64) (net.Listener, error) {
	if other == 0 {
		return net.Listen("tcp", address)
	}
	connection, err := net.Dial("unix", handover)
	if err != nil {
		// The other container has gone meanwhile, and its socket with it.
		return net.Listen("tcp", address)
	}
	defer connection.Close()
	file, err := receive(connection.(*net.UnixConn))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return net.FileListener(file)
}

// giveAway waits for the successor, gives it the socket, and accepts no more. Requests under way end as usual.
func giveAway(listener net.Listener) {
	doors := must(listenForSuccessor())
	connection := must(doors.AcceptUnix())
	defer connection.Close()
	file := must(listener.(*net.TCPListener).File())
	check(send(connection, file))
	// It listens for its own successor under the same address.
	check(doors.Close())
	check(listener.Close())
	check(file.Close())
}

// listenForSuccessor tries until the predecessor has left the address.
func listenForSuccessor() (*net.UnixListener, error) {
	for attempt := 0; ; attempt++ {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: handover, Net: "unix"})
		if err == nil || attempt == 1000 {
			return listener, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func number(name string) uint64 {
	value, err := strconv.ParseUint(os.Getenv(name), 10, 64)
	if err != nil {
		return 0
	}
	return value
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
