package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// zone is the zone of a [nameserver].
const zone = "shop.example."

// The operation code of an update, and the classes by which it deletes a record or all of a type, as RFC 2136 has them.
const (
	opUpdate                   = 5
	classNone dnsmessage.Class = 254
)

// nameserver answers queries for records A of its zone, and updates of them.
type nameserver struct {
	mu      sync.Mutex
	records []dnsmessage.Resource
}

// serveDNS starts a name server for TCP, and returns its port.
func serveDNS(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	s := &nameserver{}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for s.exchange(conn) == nil { // until the client goes
				}
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// exchange reads a message, and answers it.
func (s *nameserver) exchange(conn net.Conn) error {
	var length uint16
	if err := binary.Read(conn, binary.BigEndian, &length); err != nil {
		return err
	}
	asked := make([]byte, length)
	if _, err := io.ReadFull(conn, asked); err != nil {
		return err
	}
	answer, err := s.answer(asked)
	if err != nil {
		return err
	}
	_, err = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
	return err
}

func (s *nameserver) answer(asked []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p dnsmessage.Parser
	header, err := p.Start(asked)
	if err != nil {
		return nil, err
	}
	questions, err := p.AllQuestions()
	if err != nil {
		return nil, err
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: header.ID, Response: true, OpCode: header.OpCode}, Questions: questions}
	if header.OpCode == opUpdate {
		if err := s.update(&p); err != nil {
			return nil, err
		}
		return reply.Pack()
	}
	for _, q := range questions {
		if q.Type == dnsmessage.TypeSOA && q.Name.String() == zone {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
				Body:   &dnsmessage.SOAResource{NS: q.Name, MBox: q.Name},
			})
		}
		for _, r := range s.records {
			if r.Header.Name == q.Name && r.Header.Type == q.Type {
				reply.Answers = append(reply.Answers, r)
			}
		}
	}
	if len(reply.Answers) == 0 {
		reply.RCode = dnsmessage.RCodeNameError
	}
	return reply.Pack()
}

// update adds and deletes the records in the authority section.
func (s *nameserver) update(p *dnsmessage.Parser) error {
	if err := p.SkipAllAnswers(); err != nil {
		return err
	}
	for {
		header, err := p.AuthorityHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return nil
		}
		if err != nil {
			return err
		}
		of := func(r dnsmessage.Resource) bool { return r.Header.Name == header.Name && r.Header.Type == header.Type }
		if header.Class == dnsmessage.ClassANY {
			s.records = slices.DeleteFunc(s.records, of)
			if err := p.SkipAuthority(); err != nil {
				return err
			}
			continue
		}
		body, err := p.AResource()
		if err != nil {
			return err
		}
		s.records = slices.DeleteFunc(s.records, func(r dnsmessage.Resource) bool { return of(r) && *r.Body.(*dnsmessage.AResource) == body })
		if header.Class != classNone {
			s.records = append(s.records, dnsmessage.Resource{Header: header, Body: &body})
		}
	}
}
