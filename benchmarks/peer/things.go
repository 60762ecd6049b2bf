package main

import (
	"bufio"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

const longestLine = 1 << 20

// things are what a file holds, by the way they reach the scheduler.
type things struct {
	nodes []*v1.Node
	there []*v1.Pod // pods that have a node already
	pods  []*v1.Pod // pods that wait for one, in the order of their arrival
	other []runtime.Object
}

func read(name string) (*things, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	found := &things{}
	decoder := scheme.Codecs.UniversalDeserializer()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longestLine)
	for number := 1; lines.Scan(); number++ {
		object, _, err := decoder.Decode(lines.Bytes(), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		found.add(object)
	}
	return found, lines.Err()
}

func (t *things) add(object runtime.Object) {
	switch one := object.(type) {
	case *v1.Node:
		t.nodes = append(t.nodes, one)
	case *v1.Pod:
		if one.Spec.NodeName != "" {
			t.there = append(t.there, one)
		} else {
			t.pods = append(t.pods, one)
		}
	default:
		t.other = append(t.other, object)
	}
}
