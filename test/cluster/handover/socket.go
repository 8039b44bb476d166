package main

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// send passes an open file to the other process. Its descriptor is only borrowed: Fd would make the socket blocking, for
// all that share it.
func send(connection *net.UnixConn, file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(descriptor uintptr) {
		_, _, sent = connection.WriteMsgUnix([]byte{0}, syscall.UnixRights(int(descriptor)), nil)
	})
	return errors.Join(err, sent)
}

// receive takes the open file that send passes.
func receive(connection *net.UnixConn) (*os.File, error) {
	data, control := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	_, size, _, _, err := connection.ReadMsgUnix(data, control)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(control[:size])
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, errors.New("the other container sent no socket")
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(files[0]), "listener"), nil
}
